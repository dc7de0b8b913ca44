// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/update_rule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace shardscope;

namespace {

const std::vector<double> kWeights{0.5, -2.0, 0.0};
const std::vector<double> kFirst{0.1, -0.2, 0.0};
const std::vector<double> kSecond{0.04, 0.01, 0.0};

std::vector<double> updates(const UpdateRule& rule, double gradient)
{
    std::vector<double> out(3);
    nextUpdates(rule, {kWeights, kFirst, kSecond}, gradient, out);
    return out;
}

} // namespace

TEST_CASE("AdamW: written out for one element")
{
    const UpdateRule rule{UpdateKind::Adam, 0.01, 0.9, 0.99, 1e-8, 0.1, true, true, 4};
    const double first = (0.9 * 0.1 + 0.1 * 1) / (1 - std::pow(0.9, 5));
    const double second = (0.99 * 0.04 + 0.01 * 1) / (1 - std::pow(0.99, 5));
    CHECK(updates(rule, 1)[0] == doctest::Approx(0.01 * (first / (std::sqrt(second) + 1e-8) + 0.1 * 0.5)));
    CHECK(updates(rule, 0)[2] == 0);
    UpdateRule other = rule;
    other.step = 0;
    CHECK(updates(other, 0)[0] != updates(rule, 0)[0]);
    other = rule;
    other.biasCorrection = false;
    CHECK(updates(other, 1)[0] == doctest::Approx(0.01 * (0.19 / (std::sqrt(0.0496) + 1e-8) + 0.05)));
    other = rule;
    other.decoupledDecay = false; // the decay goes into the moments
    const double g = 0.1 * 0.5;
    CHECK(updates(other, 0)[0]
        == doctest::Approx(0.01 * ((0.09 + 0.1 * g) / (1 - std::pow(0.9, 5)))
            / (std::sqrt((0.0396 + 0.01 * g * g) / (1 - std::pow(0.99, 5))) + 1e-8)));
}

TEST_CASE("the update that the last step made, from what it left")
{
    std::vector<double> out(3);
    const UpdateRule adam{UpdateKind::Adam, 0.01, 0.9, 0.99, 1e-8, 0.1, true, true, 4};
    lastUpdates(adam, {kWeights, kFirst, kSecond}, out);
    CHECK(out[1]
        == doctest::Approx(
            0.01 * (-0.2 / (1 - std::pow(0.9, 4))) / (std::sqrt(0.01 / (1 - std::pow(0.99, 4))) + 1e-8)));
    CHECK(out[2] == 0);
    UpdateRule plain = adam;
    plain.biasCorrection = false;
    lastUpdates(plain, {kWeights, kFirst, kSecond}, out);
    CHECK(out[0] == doctest::Approx(0.01 * 0.1 / (0.2 + 1e-8)));
    const UpdateRule sgd{UpdateKind::Sgd, 0.1, 0.9, 0, 0, 0.2, false, true, 4};
    lastUpdates(sgd, {kWeights, kFirst, {}}, out);
    CHECK(out[1] == doctest::Approx(-0.02));
    const UpdateRule lion{UpdateKind::Lion, 0.01, 0.9, 0.99, 0, 0.1, true, true, 4};
    lastUpdates(lion, {kWeights, kFirst, {}}, out);
    CHECK(out == std::vector<double>{0.01, -0.01, 0});
    CHECK(keepsUpdates(adam));
    CHECK(keepsUpdates(sgd));
    CHECK_FALSE(keepsUpdates({UpdateKind::Sgd, 0.1}));
    CHECK_FALSE(keepsUpdates({UpdateKind::Adagrad, 0.1}));
    CHECK_FALSE(keepsUpdates({}));
}

TEST_CASE("Lion, SGD, Adagrad")
{
    const UpdateRule lion{UpdateKind::Lion, 0.01, 0.9, 0.99, 0, 0.1, true, true, 4};
    CHECK(updates(lion, 0)[0] == doctest::Approx(0.01 * (1 + 0.05)));
    CHECK(updates(lion, 0)[1] == doctest::Approx(0.01 * (-1 - 0.2)));
    CHECK(updates(lion, 1)[2] == doctest::Approx(0.01));
    const UpdateRule sgd{UpdateKind::Sgd, 0.1, 0.9, 0, 0, 0.2, false, true, 4};
    CHECK(updates(sgd, 1)[1] == doctest::Approx(0.1 * (0.9 * -0.2 + 1 + 0.2 * -2)));
    std::vector<double> out(3);
    nextUpdates(sgd, {kWeights, {}, {}}, 0, out);
    CHECK(out[0] == doctest::Approx(0.1 * 0.2 * 0.5));
    const UpdateRule adagrad{UpdateKind::Adagrad, 0.1, 0, 0, 1e-10, 0, false, true, 4};
    CHECK(updates(adagrad, 1)[0] == doctest::Approx(0.1 / std::sqrt(1.04)));
    CHECK(updates(adagrad, 0)[2] == 0);
}
