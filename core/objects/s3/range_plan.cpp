// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/range_plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace shardscope::objects {

namespace {

constexpr uint64_t kLongest = uint64_t{8} << 20; ///< of one request
constexpr uint64_t kGap = uint64_t{32} << 10; ///< cheaper to read over than to ask again

bool isSameObject(const ObjectRange& a, const ObjectRange& b)
{
    return a.place.key == b.place.key && a.place.bucket == b.place.bucket && a.version.tag == b.version.tag;
}

} // namespace

std::string RangeRequest::header() const
{
    return "bytes=" + std::to_string(begin) + "-" + std::to_string(end - 1);
}

std::span<uint8_t> RangeRequest::into()
{
    if (parts.size() == 1)
        return parts.front().out;
    buffer.resize(end - begin);
    return buffer;
}

bool RangeRequest::isAnsweredBy(const HttpAnswer& answer, uint64_t objectBytes) const
{
    // Some stores answer a range with 200.
    const std::string said = answer.header("content-range");
    if (said.empty())
        return answer.status == 200 && begin == 0 && end == objectBytes;
    const std::string wanted = "bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + "/";
    return said == wanted + std::to_string(objectBytes) || said == wanted + "*";
}

void RangeRequest::finish(const Status& got, std::vector<Status>& results) const
{
    for (const Part& part : parts) {
        if (!got)
            results[part.range] = got;
        else if (parts.size() > 1)
            std::memcpy(part.out.data(), buffer.data() + part.at, part.out.size());
    }
}

std::vector<RangeRequest> planRanges(std::span<const ObjectRange> ranges)
{
    std::vector<size_t> order(ranges.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        const int keys = ranges[a].place.key.compare(ranges[b].place.key);
        return keys != 0 ? keys < 0 : ranges[a].offset < ranges[b].offset;
    });
    std::vector<RangeRequest> out;
    for (const size_t number : order) {
        const ObjectRange& range = ranges[number];
        for (uint64_t done = 0; done < range.out.size();) {
            const uint64_t begin = range.offset + done;
            const uint64_t bytes = std::min(kLongest, range.out.size() - done);
            RangeRequest* last = out.empty() ? nullptr : &out.back();
            const bool joins = last != nullptr && isSameObject(ranges[last->first], range)
                && begin >= last->begin && begin <= last->end + kGap
                && begin + bytes - last->begin <= kLongest;
            if (!joins)
                last = &out.emplace_back(RangeRequest{number, begin, begin, {}, {}});
            last->parts.push_back({number, begin - last->begin, range.out.subspan(done, bytes)});
            last->end = std::max(last->end, begin + bytes);
            done += bytes;
        }
    }
    return out;
}

} // namespace shardscope::objects
