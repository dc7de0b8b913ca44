// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/tensor_statistics.h"

#include "core/compute/compute_backend.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace shardscope;

namespace {

FoundStatistics statisticsOf(const std::vector<float>& values)
{
    FoundStatistics out;
    out.statistics = plainBackend().statistics(DType::Float32,
        {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}, &out.histogram);
    return out;
}

} // namespace

TEST_CASE("statistics pass between processes unchanged, and damaged ones are refused or harmless")
{
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    FoundStatistics found
        = statisticsOf({0.f, -0.f, 1.5f, -2.f, 3e38f, -1e-45f, 0.1f, 0.1f, kInfinity, -kInfinity, NAN});
    found.missing = uint64_t{1} << 40;
    found.firstError = Error{ErrorCode::Unreadable, "reading failed", "a/file", "look at it"};
    const std::string text = toWire(found);
    FoundStatistics same;
    CHECK(fromWire(text, same));
    CHECK(same.histogram.counts() == found.histogram.counts());
    CHECK(found.histogram.counts().size() > 7);
    CHECK(std::memcmp(&same.statistics, &found.statistics, sizeof(Statistics)) == 0);
    CHECK(same.missing == found.missing);
    REQUIRE(same.firstError);
    CHECK(describe(*same.firstError) == describe(*found.firstError));
    CHECK(same.firstError->code == ErrorCode::Unreadable);
    for (size_t i = 0; i < text.size(); ++i) {
        WireReader torn(std::string_view(text).substr(0, i));
        FoundStatistics part;
        torn(part);
        CHECK_FALSE(torn.isGood());
        std::string other = text;
        other[i] = static_cast<char>(other[i] ^ 0x81);
        WireReader damaged(other);
        damaged(part); // reads nothing outside
    }
}
