# ruff: noqa: I001  (the names stand in the order of their use)

from .tables import TREATMENTS as TREATMENTS
from .tables import load_actg175 as load_actg175
from .tables import load_btheb as load_btheb
from .tables import load_french as load_french
from .joining import JoinedContexts as JoinedContexts
from .joining import join_contexts as join_contexts
from .fitted import fitted_problem as fitted_problem
from .fitted import standardised_residuals as standardised_residuals
