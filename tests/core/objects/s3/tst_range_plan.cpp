// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/range_plan.h"

#include <doctest/doctest.h>

#include <numeric>

namespace shardscope {

using objects::ObjectRange;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

ObjectRange range(const std::string& key, uint64_t offset, std::span<uint8_t> out)
{
    return {{"bucket", key}, {1000 * kMiB, "\"v\"", 0}, offset, out};
}

/// Answers every request as a store with bytes of value `offset % 251`.
void answer(std::vector<objects::RangeRequest>& plan, std::vector<Status>& results)
{
    for (objects::RangeRequest& one : plan) {
        const std::span<uint8_t> into = one.into();
        REQUIRE(into.size() == one.end - one.begin);
        for (size_t i = 0; i < into.size(); ++i)
            into[i] = static_cast<uint8_t>((one.begin + i) % 251);
        one.finish({}, results);
    }
}

} // namespace

TEST_CASE("ranges that are near each other are one request, and a long one is several")
{
    std::vector<uint8_t> memory(20 * kMiB);
    const std::span<uint8_t> all(memory);
    const std::vector<ObjectRange> ranges{range("a", 5000, all.subspan(0, 100)),
        range("a", 0, all.subspan(100, 50)), range("b", 100, all.subspan(200, 10)),
        range("a", 5050, all.subspan(300, 100)), range("a", 100 * kMiB, all.subspan(1000, 17 * kMiB)),
        range("a", 4 * kMiB, all.subspan(500, 1)), range("a", 10, {})};
    auto plan = objects::planRanges(ranges);
    REQUIRE(plan.size() == 6);
    CHECK(plan[0].header() == "bytes=0-5149");
    CHECK(plan[0].parts.size() == 3);
    CHECK(plan[1].header() == "bytes=4194304-4194304");
    CHECK(plan[2].end - plan[2].begin == 8 * kMiB);
    CHECK(plan[4].end - plan[4].begin == kMiB);
    CHECK(plan[5].header() == "bytes=100-109");
    std::vector<Status> results(ranges.size());
    answer(plan, results);
    for (const ObjectRange& one : ranges) {
        for (size_t i = 0; i < one.out.size(); ++i)
            REQUIRE(one.out[i] == (one.offset + i) % 251);
    }
}

TEST_CASE("an error of a request is that of all of its ranges")
{
    std::vector<uint8_t> memory(300);
    const std::span<uint8_t> all(memory);
    const std::vector<ObjectRange> ranges{range("a", 0, all.first(100)),
        range("a", 100, all.subspan(100, 100)), range("b", 0, all.subspan(200, 100))};
    const auto plan = objects::planRanges(ranges);
    REQUIRE(plan.size() == 2);
    std::vector<Status> results(3);
    plan[0].finish(fail(ErrorCode::Unreadable, "broken"), results);
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    CHECK(results[2]);
}

TEST_CASE("versions of one key are not read together")
{
    std::vector<uint8_t> memory(200);
    const std::span<uint8_t> all(memory);
    std::vector<ObjectRange> ranges{range("a", 0, all.first(100)), range("a", 100, all.last(100))};
    ranges[1].version.tag = "\"w\"";
    CHECK(objects::planRanges(ranges).size() == 2);
}

TEST_CASE("an answer has the range that was asked for")
{
    objects::RangeRequest request;
    request.begin = 10;
    request.end = 20;
    objects::HttpAnswer answer;
    answer.status = 206;
    const auto isAnswered = [&](const char* said) {
        answer.headers = {{"content-range", said}};
        return request.isAnsweredBy(answer, 100);
    };
    CHECK(isAnswered("bytes 10-19/100"));
    CHECK(isAnswered("bytes 10-19/*"));
    CHECK_FALSE(isAnswered("bytes 10-19/101"));
    CHECK_FALSE(isAnswered("bytes 0-9/100"));
    CHECK_FALSE(isAnswered(""));
    answer.status = 200;
    CHECK(isAnswered("bytes 10-19/100")); // as rclone does
    answer.headers.clear();
    CHECK_FALSE(request.isAnsweredBy(answer, 100));
    request.begin = 0;
    CHECK(request.isAnsweredBy(answer, 20));
}

} // namespace shardscope
