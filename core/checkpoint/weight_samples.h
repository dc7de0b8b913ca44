// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/reading.h"

namespace shardscope {

/// How many masters were held against the model file's copies of them, and how many are not their values.
struct WeightTally {
    static constexpr uint64_t kLeast = 8; ///< fewer say too little

    uint64_t compared = 0;
    uint64_t different = 0;
    [[nodiscard]] bool isBad() const { return compared >= kLeast && 2 * different > compared; }
};

/// The most by which a master may differ from its copy in `dtype`: one unit in the last place. Nothing for
/// types that no model is trained in.
std::optional<double> roundingOf(DType dtype, double master);

/// Compares masters of optimizer files with the 16-bit (or fp32) copies in one model file.
class WeightSamples
{
public:
    WeightSamples(const Reading& reading, const io::ReadFile& model)
        : m_reading(reading)
        , m_model(model)
    {
    }

    /// `count` masters at `byte` of a shard against elements [begin, begin + count) of a parameter. Nothing
    /// is counted for what cannot be compared; a read that fails becomes a finding.
    void compare(const io::ReadFile& shard, uint64_t byte, DType masterType, ParamId param, uint64_t begin,
        uint64_t count, WeightTally& tally) const;

    void noteUnreadable(const Error& error) const;

private:
    bool noted(const Status& read) const;

    const Reading& m_reading;
    const io::ReadFile& m_model;
};

/// Whether a sample of parameters over all ranks shows another order of the flat buffers than `param_shapes`
/// records; a finding then says which.
bool checkOrderAgrees(const Reading& reading, const WeightSamples& samples);

} // namespace shardscope
