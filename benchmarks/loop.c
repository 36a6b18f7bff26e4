/*
 * The HR-UCB bandit, released settings, as one plain single-core C loop.
 *
 * This is the speed limit ("C") that the JAX engine is measured against: the
 * same job in double precision, with a fast generator and no threads or
 * intrinsics.  It shares no code with the engine, so its regret is also an
 * independent check.
 *
 *   cc -O3 -march=native -o loop loop.c -lm
 *   ./loop USERS TRIALS SEED
 *
 * USERS counts the users the policy serves; the WARM warm-up users come on top
 * and enter neither the regret nor the mean lifetime.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* sqrt may set errno, which nobody reads and which keeps the compiler from
   vectorising it; calling it const halves the time and changes no result. */
double sqrt(double) __attribute__((const));

enum { D = 4, ACTIONS = 20, PAIRS = D * (D + 1) / 2, WARM = 5, K = 5 };
static const double THETA[D] = {.6, .5, .5, .3};
static const double PHI[D] = {.5, .2, .8, .9};
static const double OFFSET = 2., FLOOR = .01, XI = 26.03, LAMBDA = 1.;

/* ---- random numbers: xoshiro256+ and a 256-layer ziggurat ---- */

typedef struct { uint64_t s[4]; } Rng;

static inline uint64_t next(Rng *g)
{
    uint64_t *s = g->s, out = s[0] + s[3], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return out;
}

static void seed(Rng *g, uint64_t x)
{
    for (int i = 0; i < 4; i++) { /* splitmix64, as xoshiro's authors advise */
        uint64_t z = (x += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        g->s[i] = z ^ z >> 31;
    }
}

static inline double uniform(Rng *g) { return (next(g) >> 11) * 0x1p-53; }

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

static double normal(Rng *g);

/* Past the quick accept, about one draw in eighty; kept out of line so that
   the quick path stays small. */
static __attribute__((noinline)) double normal_slow(Rng *g, int i, double x)
{
    if (i == 0) {
        double a, b;
        do {
            a = -log(1 - uniform(g)) / TAIL;
            b = -log(1 - uniform(g));
        } while (2 * b < a * a);
        return x < 0 ? -TAIL - a : TAIL + a;
    }
    double y = zig_f[i] + uniform(g) * (zig_f[i + 1] - zig_f[i]);
    return y < exp(-.5 * x * x) ? x : normal(g);
}

static inline __attribute__((always_inline)) double normal_quick(Rng *g)
{
    uint64_t bits = next(g);
    int i = bits >> 56;                       /* layer: the top eight bits */
    int64_t j = (int64_t)(bits << 8) >> 11;   /* signed, 53 bits; the weak low
                                                 bits of xoshiro256+ drop out */
    double x = j * zig_w[i];
    if (__builtin_expect(llabs(j) < zig_k[i], 1)) return x;
    return normal_slow(g, i, x);
}

static double normal(Rng *g) { return normal_quick(g); }

/* ---- expected lifetime 1 / Phi(z) ---- */

/* libm's erfc is not vectorised and nearly doubles the time of the whole loop.
   This has no branches: Phi(-a) = exp(-a^2/2) P(q) / (a + 5), q = (a - 5) /
   (a + 5), with P a Chebyshev fit of degree 20 and exp its Taylor series of
   degree 13 after the usual reduction.  Agrees with libm to a relative 2e-14
   for z > -8. */
static const double MILLS[21] = {
    0.76919304975006257, -0.66538250289006777, 0.49530561597007114,
    -0.31353315667047411, 0.16502036616656973, -0.069118638724791449,
    0.020795066859791029, -0.0029933765799683001, -0.00079786988020346288,
    0.00054489796926619797, -5.9373476872755868e-5, -4.9758951225295316e-5,
    1.6674710287861882e-5, 3.9721279753843603e-6, -2.7574039105862454e-6,
    -3.2357714941961112e-7, 4.1970679514816928e-7, 2.9868251403096456e-8,
    -5.7157003994138727e-8, -2.3711007497594236e-9, 4.9551300208072832e-9};

static inline __attribute__((always_inline)) double lifetime(double z)
{
    double a = fabs(z), g = 1 / (a + 5), q = 1 - 10 * g, p = MILLS[20];
#pragma GCC unroll 20
    for (int i = 19; i >= 0; i--) p = p * q + MILLS[i];

    double y = -.5 * z * z;
    y = y > -700 ? y : -700; /* stay in range: 1 / Phi of about 1e304 at most */
    double big = y * 1.4426950408889634 + 0x1.8p52, n = big - 0x1.8p52;
    double r = y - n * 0x1.62e42fefa38p-1 - n * 0x1.ef35793c7673p-45;
    double e = 1. / 6227020800;
    e = e * r + 1. / 479001600;
    e = e * r + 1. / 39916800;
    e = e * r + 1. / 3628800;
    e = e * r + 1. / 362880;
    e = e * r + 1. / 40320;
    e = e * r + 1. / 5040;
    e = e * r + 1. / 720;
    e = e * r + 1. / 120;
    e = e * r + 1. / 24;
    e = e * r + 1. / 6;
    e = e * r + .5;
    e = e * r + 1;
    e = e * r + 1;
    int64_t bits;
    double scale;
    memcpy(&bits, &big, 8); /* n sits in the low bits of big */
    bits = (int64_t)((uint64_t)(bits + 1023) << 52);
    memcpy(&scale, &bits, 8);

    double tail = e * scale * p * g;
    return 1 / (z < 0 ? tail : 1 - tail);
}

/* ---- what the policy knows ---- */

typedef struct {
    double inv[D][D];    /* V^-1 */
    double rx[D];        /* sum r x */
    double rrx[D];       /* sum r^2 x */
    double x1[D];        /* sum x */
    double rxx[D][D];    /* sum r x x' */
    double xxx[PAIRS][D]; /* sum x x x, its first two indices as pairs i <= j */
    double theta[D], phi[D];
} Learner;

/* k rounds of one context, with outcomes summing to r and squares to rr. */
static inline void learn(Learner *l, const double x[D], double k, double r,
                         double rr)
{
    double v[D] = {0}, quad = 0;
    for (int j = 0; j < D; j++)
        for (int i = 0; i < D; i++) v[i] += l->inv[j][i] * x[j];
    for (int i = 0; i < D; i++) quad += v[i] * x[i];
    double c = k / (1 + k * quad);
    for (int j = 0; j < D; j++) {
        double cv = c * v[j], rxj = r * x[j];
        for (int i = 0; i < D; i++) {
            l->inv[j][i] -= cv * v[i];
            l->rxx[j][i] += rxj * x[i];
        }
    }
    for (int i = 0; i < D; i++) {
        l->rx[i] += r * x[i];
        l->rrx[i] += rr * x[i];
        l->x1[i] += k * x[i];
    }
    for (int i = 0, p = 0; i < D; i++)
        for (int j = i; j < D; j++, p++) {
            double kxx = k * x[i] * x[j];
            for (int m = 0; m < D; m++) l->xxx[p][m] += kxx * x[m];
        }
}

static inline void estimate(Learner *l)
{
    double th[D] = {0}, b[D], ph[D] = {0};
    for (int j = 0; j < D; j++)
        for (int i = 0; i < D; i++) th[i] += l->inv[j][i] * l->rx[j];
    for (int i = 0; i < D; i++) b[i] = l->rrx[i] - OFFSET * l->x1[i];
    for (int j = 0; j < D; j++)
        for (int i = 0; i < D; i++) b[i] -= 2 * th[j] * l->rxx[j][i];
    for (int i = 0, p = 0; i < D; i++)
        for (int j = i; j < D; j++, p++) {
            double tt = (i == j ? 1 : 2) * th[i] * th[j];
            for (int m = 0; m < D; m++) b[m] += tt * l->xxx[p][m];
        }
    for (int j = 0; j < D; j++)
        for (int i = 0; i < D; i++) ph[i] += l->inv[j][i] * b[j];
    memcpy(l->theta, th, sizeof th);
    memcpy(l->phi, ph, sizeof ph);
}

/* ---- a user ---- */

typedef struct {
    double x[D][ACTIONS], u[ACTIONS], sd[ACTIONS], beta; /* actions innermost,
                                                            to vectorise */
} User;

static inline void arrive(User *s, Rng *g)
{
    for (int i = 0; i < D; i++)
        for (int a = 0; a < ACTIONS; a++) s->x[i][a] = normal_quick(g);
    s->beta = 2 * uniform(g) - 1;
    for (int a = 0; a < ACTIONS; a++) {
        double n = 0, u = 0, w = 0;
        for (int i = 0; i < D; i++) n += s->x[i][a] * s->x[i][a];
        n = 1 / sqrt(n);
        for (int i = 0; i < D; i++) {
            double x = s->x[i][a] *= n;
            u += THETA[i] * x;
            w += PHI[i] * x;
        }
        s->u[a] = u;
        s->sd[a] = sqrt(w + OFFSET);
    }
}

/* First of the largest; four running maxima, since a single one would be a
   chain of twenty. */
static inline int argmax(const double *q)
{
    double m[4];
    int best = 0;
    for (int j = 0; j < 4; j++) m[j] = q[j];
    for (int a = 4; a < ACTIONS; a += 4)
        for (int j = 0; j < 4; j++) m[j] = q[a + j] > m[j] ? q[a + j] : m[j];
    double m0 = m[0] > m[1] ? m[0] : m[1], m1 = m[2] > m[3] ? m[2] : m[3];
    m0 = m0 > m1 ? m0 : m1;
    for (int a = ACTIONS - 1; a >= 0; a--) best = q[a] == m0 ? a : best;
    return best;
}

static inline void context(const User *s, int a, double x[D])
{
    for (int i = 0; i < D; i++) x[i] = s->x[i][a];
}

/* A warm-up user, served a new random action every round.  The policy learns
   when the user leaves, but nothing reads the estimates before that, so every
   round can go in at once. */
static long warm_up(Learner *l, Rng *g, long room)
{
    User s;
    long n = 0;
    double r, x[D];
    arrive(&s, g);
    do {
        int a = (int)(uniform(g) * ACTIONS);
        r = s.u[a] + s.sd[a] * normal(g);
        if (n++ < room) {
            context(&s, a, x);
            learn(l, x, 1, r, r * r);
        }
    } while (r >= s.beta);
    return n < room ? n : room;
}

/* One trial; returns its regret and adds to the total lifetime. */
static double trial(long users, Rng *g, double *total)
{
    Learner l = {0};
    long held = 0, rounds = 0; /* held: size of the sample set */
    double regret = 0;
    for (int i = 0; i < D; i++) l.inv[i][i] = 1 / LAMBDA;
    for (long t = 1; t <= WARM; t++) held += warm_up(&l, g, K * t - held);
    estimate(&l);

    for (long t = WARM + 1; t <= WARM + users; t++) {
        User s;
        double h[ACTIONS], q[ACTIONS], x[D];
        arrive(&s, g);
        for (int a = 0; a < ACTIONS; a++)
            h[a] = lifetime((s.beta - s.u[a]) / s.sd[a]);
        for (int a = 0; a < ACTIONS; a++) {
            double u = 0, w = OFFSET, quad = 0;
            for (int i = 0; i < D; i++) {
                double row = 0;
                for (int j = 0; j < D; j++) row += l.inv[i][j] * s.x[j][a];
                quad += s.x[i][a] * row;
                u += l.theta[i] * s.x[i][a];
                w += l.phi[i] * s.x[i][a];
            }
            w = w > FLOOR ? w : FLOOR;
            q[a] = lifetime((s.beta - u) / sqrt(w)) + XI * sqrt(quad);
        }
        int a = argmax(q);
        regret += h[argmax(h)] - h[a];

        long room = K * t - held, n = 0;
        double u = s.u[a], sd = s.sd[a], r, sum = 0, squares = 0;
        do {
            r = u + sd * normal_quick(g);
            if (n++ < room) sum += r, squares += r * r;
        } while (r >= s.beta);
        long k = n < room ? n : room;
        rounds += n, held += k;
        context(&s, a, x);
        learn(&l, x, k, sum, squares);
        estimate(&l);
    }
    *total += rounds;
    return regret;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s USERS TRIALS SEED\n", argv[0]);
        return 2;
    }
    long users = atol(argv[1]), trials = atol(argv[2]);
    double sum = 0, squares = 0, rounds = 0;
    Rng g;
    clock_t start = clock();
    zig_setup();
    seed(&g, strtoull(argv[3], 0, 10));
    for (long i = 0; i < trials; i++) {
        double r = trial(users, &g, &rounds);
        sum += r, squares += r * r;
    }
    double cpu = (double)(clock() - start) / CLOCKS_PER_SEC, mean = sum / trials;
    double var = trials > 1 ? (squares - sum * mean) / (trials - 1) : 0;
    printf("{\"cpu_seconds\": %.6f, \"regret_mean\": %.4f, \"regret_se\": %.4f, "
           "\"lifetime_mean\": %.5f}\n",
           cpu, mean, sqrt(var / trials), rounds / ((double)users * trials));
    return 0;
}
