/*
 * HR-UCB in the released settings as fast as one core does it: the limit that the engine is compared with.
 *
 * All trials of a block move together: every loop that matters runs over the trials, without branches or calls,
 * and the compiler makes vector instructions of it, whatever their width. Nothing relies on the order of
 * floating-point operations, so -ffast-math changes last digits only. The program shares no code with the engine:
 * its regret is an independent check.
 *
 *   cc -O3 -march=native -ffast-math -o limit limit.c -lm
 *   ./limit USERS TRIALS SEED
 *
 * USERS counts the users whom the policy serves; WARM warm-up users come before them and enter neither the regret
 * nor the mean lifetime. Trials are played in blocks of LANES (-DLANES=N; 20 by default).
 *
 * What it does that a plain loop does not: directions in four dimensions without normal numbers (two points on
 * circles, whose radii share a uniform number), the oracle's action by the largest (u - beta) / sd, so that 1 / Phi
 * is needed for two actions only, and symmetric arrays without their lower halves.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef LANES
#define LANES 20
#endif
#define EACH for (int t = 0; t < LANES; t++)

enum { D = 4, ACTIONS = 20, PAIRS = 10, TRIPLES = 20, WARM = 5, K = 5 };
static const double THETA[D] = {.6, .5, .5, .3};
static const double PHI[D] = {.5, .2, .8, .9};
static const double OFFSET = 2., FLOOR = .01, XI = 26.03, LAMBDA = 1.;

typedef double Vec[LANES];
/* Where the entry (i, j), in any order, of a symmetric array is kept. */
static const int PAIR[D][D] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};

/* ---- random numbers: one xoshiro256+ per trial ---- */

typedef struct { uint64_t s[4][LANES]; } Rng;

static inline __attribute__((always_inline)) uint64_t next(Rng *g, int t)
{
    uint64_t a = g->s[0][t], b = g->s[1][t], c = g->s[2][t], d = g->s[3][t], out = a + d, e = b << 17;
    c ^= a; d ^= b; b ^= c; a ^= d;
    c ^= e;
    d = d << 45 | d >> 19;
    g->s[0][t] = a, g->s[1][t] = b, g->s[2][t] = c, g->s[3][t] = d;
    return out;
}

static void seed(Rng *g, uint64_t x)
{
    EACH for (int i = 0; i < 4; i++) { /* splitmix64 */
        uint64_t z = (x += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        g->s[i][t] = z ^ z >> 31;
    }
}

static inline double of_bits(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint64_t bits_of(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }

/* Uniform on (0, 1): the top 51 bits, in the middle of their cell. */
static inline double uniform(uint64_t word) { return of_bits(word >> 12 | 0x3ff0000000000001u) - 1; }

/* Outcomes of a stay, one trial at a time: a ziggurat of 256 layers. */
#define TAIL 3.6541528853610088   /* where the last layer starts */
#define AREA 0.00492867323399     /* area of every layer */
static double zig_x[257], zig_f[257], zig_w[256];
static int64_t zig_k[256];

static void zig_setup(void)
{
    zig_f[1] = exp(-.5 * TAIL * TAIL);
    zig_x[0] = AREA / zig_f[1]; /* the base layer, its tail folded in */
    zig_x[1] = TAIL;
    for (int i = 2; i < 256; i++) {
        zig_f[i] = zig_f[i - 1] + AREA / zig_x[i - 1];
        zig_x[i] = sqrt(-2 * log(zig_f[i]));
    }
    zig_x[256] = 0, zig_f[256] = 1;
    for (int i = 0; i < 256; i++) {
        zig_w[i] = zig_x[i] * 0x1p-52;
        zig_k[i] = (int64_t)(zig_x[i + 1] / zig_x[i] * 0x1p52);
    }
}

static double normal(Rng *g, int t);

/* Past the quick accept, about one draw in eighty; kept out of line so that
   the quick path stays small. */
static __attribute__((noinline)) double normal_slow(Rng *g, int t, int i, double x)
{
    if (i == 0) {
        double a, b;
        do {
            a = -log(uniform(next(g, t))) / TAIL;
            b = -log(uniform(next(g, t)));
        } while (2 * b < a * a);
        return x < 0 ? -TAIL - a : TAIL + a;
    }
    double y = zig_f[i] + uniform(next(g, t)) * (zig_f[i + 1] - zig_f[i]);
    return y < exp(-.5 * x * x) ? x : normal(g, t);
}

static inline __attribute__((always_inline)) double normal_quick(Rng *g, int t)
{
    uint64_t bits = next(g, t);
    int i = bits >> 56;                       /* layer: the top eight bits */
    int64_t j = (int64_t)(bits << 8) >> 11;   /* signed, 53 bits; the weak low
                                                 bits of xoshiro256+ drop out */
    double x = j * zig_w[i];
    if (__builtin_expect(llabs(j) < zig_k[i], 1)) return x;
    return normal_slow(g, t, i, x);
}

static double normal(Rng *g, int t) { return normal_quick(g, t); }

/* A uniform point on the circle of radius r: an angle within a quarter turn about 0, and one of four quarters. */
static inline __attribute__((always_inline)) void on_circle(uint64_t word, double r, double *x, double *y)
{
    double a = (uniform(word << 2) - .5) * 1.5707963267948966, q = a * a;
    double s = ((((((-7.647163731819816e-13 * q + 1.6059043836821613e-10) * q - 2.5052108385441718e-8) * q
               + 2.7557319223985893e-6) * q - 1.984126984126984e-4) * q + 8.333333333333333e-3) * q
               - .16666666666666666) * q * a + a;
    double c = ((((((4.779477332387385e-14 * q - 1.1470745597729725e-11) * q + 2.08767569878681e-9) * q
               - 2.755731922398589e-7) * q + 2.48015873015873e-5) * q - 1.388888888888889e-3) * q
               + 4.1666666666666664e-2) * q * q - .5 * q + 1;
    uint64_t sign = word & 1ull << 63, swap = word & 1ull << 62;
    double p = swap ? s : c, o = swap ? c : s;
    *x = r * of_bits(bits_of(p) ^ sign);
    *y = r * of_bits(bits_of(o) ^ sign);
}

/* ---- expected lifetime 1 / Phi(z) ---- */

/* Phi(-a) = exp(-a^2/2) P(q) / (a + 5), q = (a - 5) / (a + 5), with P a Chebyshev fit and exp its Taylor series after
   the usual reduction: a relative 2e-14 for z > -8. */
static const double MILLS[21] = {
    0.76919304975006257, -0.66538250289006777, 0.49530561597007114,
    -0.31353315667047411, 0.16502036616656973, -0.069118638724791449,
    0.020795066859791029, -0.0029933765799683001, -0.00079786988020346288,
    0.00054489796926619797, -5.9373476872755868e-5, -4.9758951225295316e-5,
    1.6674710287861882e-5, 3.9721279753843603e-6, -2.7574039105862454e-6,
    -3.2357714941961112e-7, 4.1970679514816928e-7, 2.9868251403096456e-8,
    -5.7157003994138727e-8, -2.3711007497594236e-9, 4.9551300208072832e-9};
static const double FACTORIALS[14] = {
    1., 1., .5, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800,
    1. / 39916800, 1. / 479001600, 1. / 6227020800};

static inline __attribute__((always_inline)) double lifetime(double z)
{
    double a = fabs(z), g = 1 / (a + 5), q = 1 - 10 * g, p = MILLS[20], e = FACTORIALS[13];
#pragma GCC unroll 20
    for (int i = 19; i >= 0; i--) p = p * q + MILLS[i];
    double y = -.5 * z * z;
    y = y > -700 ? y : -700; /* stay in range: 1 / Phi of about 1e304 at most */
    int n = (int)(y * 1.4426950408889634 - .5); /* towards zero, so to the nearest: y <= 0 */
    double r = y - n * .6931471805599453;
#pragma GCC unroll 13
    for (int i = 12; i >= 0; i--) e = e * r + FACTORIALS[i];
    double tail = e * of_bits((uint64_t)(int64_t)(n + 1023) << 52) * p * g;
    return 1 / (z < 0 ? tail : 1 - tail);
}

/* ---- what the policy knows, in every trial ---- */

typedef struct {
    Vec inverse[PAIRS];  /* V^-1 */
    Vec rx[D];           /* sum r x */
    Vec rrx[D];          /* sum r^2 x */
    Vec x1[D];           /* sum x */
    Vec rxx[PAIRS];      /* sum r x x' */
    Vec xxx[TRIPLES];    /* sum x x x */
    Vec theta, theta1, theta2, theta3, phi[D];
    Vec size;            /* of the sample set */
} Learner;

/* k rounds with one context per trial, whose outcomes sum to r and their squares to rr. */
static void learn(Learner *l, double x[D][LANES], const double *k, const double *r, const double *rr)
{
    Vec v[D], c;
    memset(c, 0, sizeof c);
    for (int i = 0; i < D; i++) {
        EACH v[i][t] = 0;
        for (int j = 0; j < D; j++) EACH v[i][t] += l->inverse[PAIR[i][j]][t] * x[j][t];
        EACH c[t] += v[i][t] * x[i][t];
    }
    EACH c[t] = k[t] / (1 + k[t] * c[t]);
    for (int i = 0, p = 0, n = 0; i < D; i++) {
        EACH l->rx[i][t] += r[t] * x[i][t];
        EACH l->rrx[i][t] += rr[t] * x[i][t];
        EACH l->x1[i][t] += k[t] * x[i][t];
        for (int j = i; j < D; j++, p++) {
            EACH l->inverse[p][t] -= c[t] * v[i][t] * v[j][t];
            EACH l->rxx[p][t] += r[t] * x[i][t] * x[j][t];
            for (int m = j; m < D; m++, n++) EACH l->xxx[n][t] += k[t] * x[i][t] * x[j][t] * x[m][t];
        }
    }
    EACH l->size[t] += k[t];
}

static void estimate(Learner *l)
{
    Vec *theta = &l->theta, b[D];
    for (int i = 0; i < D; i++) {
        EACH theta[i][t] = 0;
        for (int j = 0; j < D; j++) EACH theta[i][t] += l->inverse[PAIR[i][j]][t] * l->rx[j][t];
    }
    for (int i = 0; i < D; i++) {
        EACH b[i][t] = l->rrx[i][t] - OFFSET * l->x1[i][t];
        for (int j = 0; j < D; j++) EACH b[i][t] -= 2 * theta[j][t] * l->rxx[PAIR[i][j]][t];
    }
    for (int i = 0, n = 0; i < D; i++)
        for (int j = i; j < D; j++)
            for (int m = j; m < D; m++, n++) {
                /* Of the orders of (i, j, m), those that end in each of them. */
                double by_m = i == j ? 1 : 2, by_i = j == m ? 1 : 2;
                EACH b[m][t] += by_m * theta[i][t] * theta[j][t] * l->xxx[n][t];
                if (m != j) EACH b[j][t] += (i == j ? 2 : 2) * theta[i][t] * theta[m][t] * l->xxx[n][t];
                if (i != j) EACH b[i][t] += by_i * theta[j][t] * theta[m][t] * l->xxx[n][t];
            }
    for (int i = 0; i < D; i++) {
        EACH l->phi[i][t] = 0;
        for (int j = 0; j < D; j++) EACH l->phi[i][t] += l->inverse[PAIR[i][j]][t] * b[j][t];
    }
}

/* ---- a user in every trial ---- */

typedef struct { Vec x[ACTIONS][D], u[ACTIONS], sd[ACTIONS], beta; } User;

static void arrive(User *s, Rng *g)
{
    for (int a = 0; a < ACTIONS; a++) {
        Vec *x = s->x[a];
        uint64_t share[LANES], one[LANES], two[LANES];
        EACH share[t] = next(g, t);
        EACH one[t] = next(g, t);
        EACH two[t] = next(g, t);
        EACH {
            double v = uniform(share[t]), x0, x1, x2, x3;
            on_circle(one[t], sqrt(v), &x0, &x1);
            on_circle(two[t], sqrt(1 - v), &x2, &x3);
            x[0][t] = x0, x[1][t] = x1, x[2][t] = x2, x[3][t] = x3;
            s->u[a][t] = THETA[0] * x0 + THETA[1] * x1 + THETA[2] * x2 + THETA[3] * x3;
            s->sd[a][t] = sqrt(PHI[0] * x0 + PHI[1] * x1 + PHI[2] * x2 + PHI[3] * x3 + OFFSET);
        }
    }
    EACH s->beta[t] = 2 * uniform(next(g, t)) - 1;
}

/* The policy's action and the oracle's (u - beta) / sd. Numbers of actions are kept as doubles, as wide as the rest. */
static void choose(const User *s, const Learner *l, double *action, double *best)
{
    Vec top;
    const Vec *v = l->inverse, *theta = &l->theta, *phi = l->phi;
    EACH top[t] = -1, best[t] = -1e300, action[t] = 0;
    for (int a = 0; a < ACTIONS; a++) {
        const Vec *x = s->x[a];
        EACH {
            double x0 = x[0][t], x1 = x[1][t], x2 = x[2][t], x3 = x[3][t], beta = s->beta[t];
            double quad = x0 * (v[0][t] * x0 + 2 * (v[1][t] * x1 + v[2][t] * x2 + v[3][t] * x3))
                        + x1 * (v[4][t] * x1 + 2 * (v[5][t] * x2 + v[6][t] * x3))
                        + x2 * (v[7][t] * x2 + 2 * v[8][t] * x3) + v[9][t] * x3 * x3;
            double u = theta[0][t] * x0 + theta[1][t] * x1 + theta[2][t] * x2 + theta[3][t] * x3;
            double w = phi[0][t] * x0 + phi[1][t] * x1 + phi[2][t] * x2 + phi[3][t] * x3 + OFFSET;
            w = w > FLOOR ? w : FLOOR;
            double index = lifetime((beta - u) / sqrt(w)) + XI * sqrt(quad > 0 ? quad : 0);
            double z = (s->u[a][t] - beta) / s->sd[a][t];
            action[t] = index > top[t] ? a : action[t];
            top[t] = index > top[t] ? index : top[t];
            best[t] = z > best[t] ? z : best[t];
        }
    }
}

/* Warm-up users, served a new random action every round. The policy learns when a user leaves, but nothing reads the
   estimates before that, so every round can go in at once. */
static void warm_up(Learner *l, Rng *g, long number)
{
    User s;
    Vec x[D], k, r, rr;
    int alive[LANES], left = LANES;
    arrive(&s, g);
    EACH alive[t] = 1;
    while (left) {
        EACH {
            int a = (int)(uniform(next(g, t)) * ACTIONS);
            r[t] = s.u[a][t] + s.sd[a][t] * normal(g, t);
            k[t] = alive[t] && l->size[t] < K * number;
            if (alive[t] && r[t] < s.beta[t]) alive[t] = 0, left--;
            r[t] *= k[t], rr[t] = r[t] * r[t];
            for (int i = 0; i < D; i++) x[i][t] = s.x[a][i][t];
        }
        learn(l, x, k, r, rr);
    }
}

/* One block of trials: their regrets; adds to the rounds of each. */
static void block(long users, Rng *g, double *regret, double *rounds)
{
    static Learner l;
    static User s;
    Vec action, best, x[D], k, r, rr, own;
    memset(&l, 0, sizeof l);
    EACH regret[t] = 0;
    for (int i = 0; i < D; i++) EACH l.inverse[PAIR[i][i]][t] = 1 / LAMBDA;
    for (long n = 1; n <= WARM; n++) warm_up(&l, g, n);
    estimate(&l);
    for (long n = WARM + 1; n <= WARM + users; n++) {
        arrive(&s, g);
        choose(&s, &l, action, best);
        EACH {
            int a = (int)action[t];
            double u = s.u[a][t], sd = s.sd[a][t], beta = s.beta[t], outcome, sum = 0, squares = 0;
            long room = (long)(K * n - l.size[t]), played = 0;
            own[t] = (u - beta) / sd;
            do {
                outcome = u + sd * normal_quick(g, t);
                if (played++ < room) sum += outcome, squares += outcome * outcome;
            } while (outcome >= beta);
            rounds[t] += played;
            k[t] = played < room ? played : room, r[t] = sum, rr[t] = squares;
            for (int i = 0; i < D; i++) x[i][t] = s.x[a][i][t];
        }
        EACH regret[t] += lifetime(-best[t]) - lifetime(-own[t]);
        learn(&l, x, k, r, rr);
        estimate(&l);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s USERS TRIALS SEED\n", argv[0]);
        return 2;
    }
    long users = atol(argv[1]), trials = atol(argv[2]);
    double sum = 0, squares = 0, total = 0;
    Rng g;
    clock_t start = clock();
    zig_setup();
    seed(&g, strtoull(argv[3], 0, 10));
    for (long first = 0; first < trials; first += LANES) {
        Vec regret, rounds = {0};
        block(users, &g, regret, rounds);
        for (int t = 0; t < LANES && first + t < trials; t++)
            sum += regret[t], squares += regret[t] * regret[t], total += rounds[t];
    }
    double cpu = (double)(clock() - start) / CLOCKS_PER_SEC, mean = sum / trials;
    double var = trials > 1 ? (squares - sum * mean) / (trials - 1) : 0;
    printf("{\"cpu_seconds\": %.6f, \"regret_mean\": %.4f, \"regret_se\": %.4f, \"lifetime_mean\": %.5f}\n", cpu, mean,
           sqrt(var / trials), total / ((double)users * trials));
    return 0;
}
