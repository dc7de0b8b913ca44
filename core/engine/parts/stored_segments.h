// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/wire.h"
#include "core/plan/model/write_plan.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// Stores the segments of one record, each relative to the one before: a few bytes where it continues there.
class StoredSegments
{
public:
    /// `itemBytes`: of an element of the segment's tensor.
    void add(const Segment& segment, uint64_t itemBytes);
    std::string take() { return m_out.take(); }

    /// What most segments continue.
    struct Before {
        uint32_t source = 0;
        uint32_t record = 0;
        uint64_t sourceEnd = 0;
        uint32_t tensor = 0;
        uint64_t nextElement = 0;

        void pass(const Segment& segment, uint64_t itemBytes);
    };

private:
    WireWriter m_out;
    Before m_before;
};

/// Reads them again. `tensors` must live longer.
std::unique_ptr<SegmentCursor> storedCursor(
    std::shared_ptr<const std::string> bytes, const std::vector<PlanTensor>& tensors);

/// A number that readType() reads again.
void writeType(WireWriter& out, DType type);
/// Unknown for a number that is no dtype.
DType readType(WireReader& in);

} // namespace shardscope
