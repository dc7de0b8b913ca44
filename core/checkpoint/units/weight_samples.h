// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <map>
#include <memory>

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

/// Compares masters of optimizer files with the 16-bit (or fp32) copies in the model, layer and expert files.
class WeightSamples
{
public:
    explicit WeightSamples(const Reading& reading)
        : m_reading(reading)
    {
    }

    /// `count` masters at `byte` of a shard against elements [begin, begin + count) of a parameter. Nothing
    /// is counted for what cannot be compared; a read that fails becomes a finding.
    void compare(const io::ReadFile& shard, uint64_t byte, DType masterType, ParamId param, uint64_t begin,
        uint64_t count, WeightTally& tally);

    void noteUnreadable(const Error& error) const;

private:
    bool noted(const Status& read) const;
    /// Null where it cannot be opened, which is noted once.
    const io::ReadFile* open(FileId file);

    const Reading& m_reading;
    std::map<uint32_t, std::unique_ptr<io::ReadFile>> m_files; ///< by file
};

/// Whether a sample of parameters over all ranks shows another order of the flat buffers than `param_shapes`
/// records; a finding then says which.
bool checkOrderAgrees(const Reading& reading, WeightSamples& samples);

} // namespace shardscope
