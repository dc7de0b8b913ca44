// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/io/held_file.h"

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace shardscope {

/// The number of masters that were compared with the model file's copies, and of those that did not match.
struct WeightTally {
    static constexpr uint64_t kMin = 8; ///< fewer samples prove too little

    uint64_t compared = 0;
    uint64_t different = 0;
    [[nodiscard]] bool isBad() const { return compared >= kMin && 2 * different > compared; }
};

/// The max difference between a master and its copy in `dtype`: one unit in the last place. Nothing for
/// dtypes that no model is trained in.
std::optional<double> roundingOf(DType dtype, double master);

/// Compares masters of optimizer files with the copies (16-bit or fp32) in the model, layer and expert files.
class WeightSamples
{
public:
    explicit WeightSamples(const Reading& reading)
        : m_reading(reading)
    {
    }

    /// Compares `count` masters at `byte` of a shard with elements [begin, begin + count) of a parameter.
    /// What cannot be compared is not counted. A failed read becomes a finding.
    void compare(const io::ReadFile& shard, uint64_t byte, DType masterType, ParamId param, uint64_t begin,
        uint64_t count, WeightTally& tally);

    void noteUnreadable(const Error& error) const;

    /// From here to fetch(), compare() notes what it would read and counts it as compared and equal.
    void plan() { m_isPlanning = true; }
    /// Reads all of that together, from `shards` and from the files with copies. A failed read is repeated,
    /// and reported, by the comparison itself.
    void fetch(std::span<const std::unique_ptr<io::HeldFile>> shards);

private:
    struct Planned {
        const io::ReadFile* file = nullptr;
        uint64_t offset = 0;
        uint64_t bytes = 0;
    };
    bool noted(const Status& read) const;
    /// Null if it cannot be opened. That is reported once.
    const io::ReadFile* open(FileId file);

    const Reading& m_reading;
    std::map<uint32_t, std::unique_ptr<io::HeldFile>> m_files; ///< by file
    bool m_isPlanning = false;
    std::vector<Planned> m_planned;
};

/// Whether a sample of parameters over all ranks shows that the flat buffers have another order than
/// `param_shapes`. A finding then reports which.
bool checkOrderAgrees(const Reading& reading, WeightSamples& samples);

} // namespace shardscope
