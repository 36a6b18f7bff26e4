"""The radii of the confidence sets of HR-UCB and its variants, one named choice per file.

================  ==================================================================
name              radii of the sets for θ and φ before a user, with n = |S|, at least 1
================  ==================================================================
paper             α⁽¹⁾_n(δ) and ρ_n(δ/n²) as printed
corrected         the same with the errors of the print corrected
explicit          corrected, and without the unknown constants C₁, C₂
released          α⁽¹⁾_n(δ) with n = K·T throughout, for both: what the released program computes
constant          the number ``xi``, for both
calibrated        1 − δ quantiles of a parametric bootstrap
likelihood-ratio  one joint set for (θ, φ), from the likelihood of normal outcomes
================  ==================================================================

The paper's index adds ξ‖x‖ in the norm of V⁻¹, with ξ = C₃·(radius for θ) + C₄·(radius for φ);
"released" and "constant" give ξ itself.

A further choice is one file of this package with a class that is registered in
:data:`hrprob.policies.radii.base.RADII`.
"""
