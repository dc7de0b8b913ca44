// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/s3/http_client.h"

namespace shardscope::objects {

/// One request for a part of one range, or for several ranges that are near each other.
struct RangeRequest {
    struct Part {
        size_t range = 0; ///< its number
        uint64_t at = 0; ///< in the request
        std::span<uint8_t> out;
    };
    size_t first = 0; ///< the number of a range of the object
    uint64_t begin = 0; ///< in the object
    uint64_t end = 0;
    std::vector<Part> parts;
    std::vector<uint8_t> buffer; ///< where the parts are not one piece of memory

    /// "bytes=0-9".
    [[nodiscard]] std::string header() const;
    /// Where the answer goes.
    std::span<uint8_t> into();
    /// Whether the answer has this range of an object of so many bytes.
    [[nodiscard]] bool isAnsweredBy(const HttpAnswer& answer, uint64_t objectBytes) const;
    /// Copies what arrived to the parts, or gives them the error.
    void finish(const Status& got, std::vector<Status>& results) const;
};

std::vector<RangeRequest> planRanges(std::span<const ObjectRange> ranges);

} // namespace shardscope::objects
