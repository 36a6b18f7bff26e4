"""Settings that every test shares."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The first call of a compiled function takes long, so no example has a deadline; examples are the
# same in every run, and no database of them is kept beside the code.
settings.register_profile("hrprob", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("hrprob")


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs in pytest's own cache: modules, processes and later runs share them."""
    if getattr(config, "cache", None) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


# Which tests are slow (several seconds) is marked beside them or, where it was measured to be so, told
# here by a part of their names. Studies (minutes, `pytest -m study`) are slow too.
_SLOW = (
    "diagnostics/test_calibration.py::test_what_is_calibrated_fails_as_rarely_as_is_said",
    "estimation/posterior/test_engines.py::test_before_any_data_laplace_is_the_prior",
    "estimation/posterior/test_engines.py::test_growing_data_do_not_compile_anew",
    "estimation/posterior/test_engines.py::test_smc_moves_only_the_trials_whose_particles_are_worn",
    "estimation/test_confidence.py::test_domains_without_finite_constants_are_refused",
    "problem/test_hidden.py::test_derivatives_pass_through_the_average",
    "problem/test_hidden.py::test_uniform_levels_where_lifetimes_are_steep",
    "problem/test_hidden.py::test_without_variance_a_round_is_the_last_where_the_level_is_above",
    "problem/test_sequences.py::test_what_a_function_gives_late_is_checked_for_data_sets_and_coverage_too",
    "simulation/test_extensions.py::test_a_hidden_level_is_seen_by_nobody",
    "simulation/test_extensions.py::test_costs_of_rounds_are_what_was_lost",
    "simulation/test_invariance.py::TestSmall::test_number_of_trials",
    "test_cli.py::test_a_run_says_that_a_short_file_begins_again",
    "test_cli.py::test_a_run_says_what_a_policy_takes_for_what",
    "test_cli_fit.py::test_what_is_left_out_of_a_file_is_said",
    "test_fit.py::test_a_problem_says_what_is_fitted",
    "test_fit.py::test_many_rounds_leave_every_kth_draw",
    "test_fit.py::test_programs_that_an_engine_cannot_take",
    "test_fit.py::test_the_same_seed_gives_the_same_draws",
    "hrprob/comparison/coverage.py::",
    "hrprob/comparison/paired.py::",
    "hrprob/comparison/sequential.py::hrprob.comparison.sequential.decide",
    "hrprob/fitting/fit.py::",
    "hrprob/fitting/posterior.py::",
    "hrprob/policies/contextual_ids.py::hrprob.policies.contextual_ids.ContextualIDS",
    "hrprob/policies/exact_optimism.py::hrprob.policies.exact_optimism.HRUCBExact",
    "hrprob/reproduce/command.py::hrprob.reproduce.command.reproduce",
    "comparison/test_paired.py::test_a_run_is_gone_on_with",
    "comparison/test_paired.py::test_trials_are_added_until_it_is_decided",
    "comparison/test_play.py::test_one_command_plays_it",
    "comparison/test_runs.py::test_another_problem_is_no_rival",
    "comparison/test_runs.py::test_results_of_other_users_are_refused",
    "comparison/test_runs.py::test_results_of_the_same_users_become_one",
    "comparison/test_runs.py::test_several_problems_are_a_suite",
    "comparison/test_runs.py::test_trials_are_added_from_the_command_line",
    "diagnostics/test_outcomes.py::test_heavy_tails_are_seen_by_every_check",
    "diagnostics/test_replicate.py::test_data_sets_are_the_trials_of_a_simulation",
    "diagnostics/test_rho.py::test_a_set_that_covers_as_often_as_it_says_is_not_blamed",
    "diagnostics/test_rho.py::test_sets_know_the_bounds_and_the_prior",
    "diagnostics/test_rho.py::test_the_factor_is_what_the_printed_radius_may_shrink_by",
    "diagnostics/test_rho.py::test_the_largest_share_is_that_along_all_sizes",
    "diagnostics/test_rho.py::test_the_printed_set_is_hundreds_of_times_too_wide",
    "diagnostics/test_rho.py::test_what_the_gap_is_made_of_multiplies_to_the_gap",
    "estimation/posterior/test_contract.py::test_engines_keep_their_contract",
    "estimation/posterior/test_engines.py::test_a_bad_approximation_is_not_trusted",
    "estimation/posterior/test_engines.py::test_engines_agree_with_random_walk_metropolis",
    "estimation/posterior/test_target.py::test_derivatives_are_those_of_the_log_density",
    "estimation/test_glse.py::test_solve_is_the_definition",
    "informative]",
    "models/test_models.py::test_priors_are_what_they_say[3]",
    "policies/test_beyond.py::test_calibrated_is_as_the_plain_loop",
    "policies/test_beyond.py::test_compiled_is_as_the_plain_loop",
    "policies/test_beyond.py::test_one_action_costs_nothing",
    "policies/test_contract.py::test_batched_is_as_one_by_one",
    "policies/test_contract.py::test_compiled_is_as_interpreted",
    "policies/test_contract.py::test_learns_nothing_from_rounds_not_taken[contextual-ids]",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not",
    "policies/test_thompson.py::test_a_round_is_taken_where_it_can_be_written_down",
    "policies/test_thompson.py::test_an_engine_outside_the_program_is_fitted_between_stretches",
    "problem/test_hidden.py::test_normal_levels",
    "problem/test_hidden.py::test_the_limit_is_where_the_average_becomes_infinite",
    "problem/test_hidden.py::test_uniform_levels_against_brute_force",
    "problem/test_objective.py::test_costs_of_rounds_add_up_to_what_a_stay_loses",
    "reproduce/test_command.py::test_a_broken_part_is_played_anew",
    "reproduce/test_command.py::test_other_settings_are_played_anew",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[cmdp]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb eager",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb paper]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[random",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[sigma-max-ucb",
    "simulation/test_extensions.py::test_a_chosen_sample_set",
    "simulation/test_extensions.py::test_a_wrong_belief",
    "simulation/test_extensions.py::test_the_oracles_value_is_the_mean_of_its_lifetimes",
    "simulation/test_extensions.py::test_values_are_means_of_what_users_bring",
    "simulation/test_extensions.py::test_with",
    "simulation/test_lifetimes.py::test_no_stay_is_cut_off",
    "simulation/test_lifetimes.py::test_regret_is_what_was_lost",
    "simulation/test_results.py::test_a_model_of_ones_own_is_described",
    "test_cli_fit.py::test_a_fit_prints_a_table_and_leaves_its_results",
    "test_fit.py::test_a_tree_has_what_arviz_looks_for",
    "test_fit.py::test_gathered_rounds_are_those_that_were_played",
    "test_readme.py::test_examples_run",
)
_STUDIES = (
    "estimation/posterior/test_contract.py::test_engines_keep_their_contract[gaussian-gaussian-nuts]",
    "estimation/posterior/test_contract.py::test_engines_keep_their_contract[gaussian-gaussian-svi]",
    "estimation/posterior/test_contract.py::test_engines_keep_their_contract[mixture-uniform",
    "estimation/posterior/test_engines.py::test_svi_has_the_means_of_nuts_from_thirty_users_on",
    "estimation/posterior/test_target.py::test_derivatives_are_those_of_the_log_density[student-t",
    "policies/test_contract.py::test_batched_is_as_one_by_one[bayes",
    "policies/test_contract.py::test_batched_is_as_one_by_one[ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[bayes",
    "policies/test_contract.py::test_compiled_is_as_interpreted[ids]",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not[contextual-ids]",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not[weighted-oful]",
    "policies/test_thompson.py::test_every_bayesian_policy_learns[bayes",
    "policies/test_thompson.py::test_every_way_of_learning_learns[{'model': 'student-t'}]",
    "policies/test_thompson.py::test_engines_from_outside_compile_once[nuts]",
    "policies/test_thompson.py::test_laplace_and_smc_cost_the_same",
    # Eager and active policies equal their loops in the paper's setting and with extensions, which is tested.
    *(
        f"simulation/test_against_plain.py::test_engine_equals_plain_loop_elsewhere[{policy}"
        for policy in (
            "cmdp arbitrary-sets",
            "cmdp by users-alone",
            "greedy eager",
            "hr-ucb corrected-alone",
            "hr-ucb eager",
            "linucb eager",
            "linucb informative",
            "oracle eager",
            "random eager",
            "sigma-max-ucb eager",
            "sigma-max-ucb paper-line",
        )
    ),
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[greedy eager informative]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb eager, wrong noise]",
    "simulation/test_invariance.py::test_long_runs_in_other_stretches[16777216]",
    "test_fit.py::test_a_value_for_each_round",
    "test_speed.py::test_cost",
    "test_speed.py::test_memory",
    # Every run of the reproduction, which is tested, compares the same curves.
    "test_published.py::test_twenty_trials",
    "test_published.py::test_along_the_curve",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow and what is a study, before any mark decides what is left out."""
    for item in items:
        marked = item.get_closest_marker("slow") is not None
        if any(part in item.nodeid for part in _STUDIES) or ("tests/diagnostics/" in item.nodeid and marked):
            item.add_marker("study")
        if item.get_closest_marker("study") or any(part in item.nodeid for part in _SLOW):
            item.add_marker("slow")


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Drop the programs of a module after it: all of them together take gigabytes."""
    yield
    import jax

    jax.clear_caches()
