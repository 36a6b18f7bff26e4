"""``hrprob describe``: every kind of every family."""

import json

from hrprob.kinds import FAMILIES, family


def test_all_families_are_listed(call):
    status, out, _ = call("describe")
    assert status == 0
    for name in FAMILIES:
        for kind in family(name):
            assert f"    {kind}\n" in out.partition(f"{name} (")[2]


def test_one_family_and_one_kind(call):
    status, out, _ = call("describe", "levels")
    assert status == 0
    assert "hidden\n    Levels that are drawn once per user" in out
    status, out, _ = call("describe", "levels", "hidden")
    assert status == 0
    assert 'of : LevelDistribution, default { kind = "uniform", low = -1.0, high = 1.0 }' in out
    status, out, _ = call("describe", "engines", "nuts", "--json")
    (entry,) = json.loads(out)
    assert [parameter["name"] for parameter in entry["parameters"]][:3] == ["chains", "warmup", "draws"]
    status, out, _ = call("describe", "--json")
    assert set(json.loads(out)) == set(FAMILIES)


def test_names_that_do_not_exist(call):
    status, _, err = call("describe", "polices")
    assert status == 2
    assert "`FAMILY` must be one of" in err
    assert "did you mean `policies`?" in err
    status, _, err = call("describe", "noises", "studnet-t")
    assert status == 2
    assert "`KIND` must be one of" in err
    assert "did you mean `student-t`?" in err
