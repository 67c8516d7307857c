// Distributions that the verdicts need, in double precision (relative error below 1e-10 where not said otherwise).
#pragma once

namespace tally::lab::stats {

// Regularised incomplete beta function I_x(a, b), a, b > 0, x in [0, 1] (continued fraction, DLMF 8.17.22).
double incomplete_beta(double a, double b, double x);

// P(T <= t) of Student's t with dof > 0 degrees of freedom (need not be whole), and its inverse for p in (0, 1).
double t_cdf(double t, double dof);
double t_quantile(double p, double dof);
// P(|T| >= |t|).
double t_two_sided(double t, double dof);

double normal_cdf(double z);
double normal_quantile(double p);  // p in (0, 1)

// Expected maximum of k independent standard normal draws, in standard deviations: 0 for k = 1, 1.668 for k = 13.
// Error when k < 1 or above 1e6.
double expected_maximum(int k);

// Two-sided exact sign test: the chance of a result at least as uneven as `wins` of n when both sides are equal.
// Ties are to be left out of n by the caller. 1 for n = 0; Error when wins is outside 0…n or n above 1e6.
double sign_test(int wins, int n);

}  // namespace tally::lab::stats
