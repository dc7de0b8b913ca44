// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/stage0/stage0_stages.h"
#include "core/checkpoint/stage0/stage0_states.h"

#include <map>
#include <memory>

namespace shardscope {

/// One layer file of a pipeline.
struct Stage0Layer {
    uint32_t number = 0;
    std::vector<uint32_t> tensors; ///< its parameters: indices into Stage0Pipeline::tensors
    uint64_t weight = 0; ///< number of elements if the masters are flat, else of parameters
    uint32_t module = 0; ///< the first layer with the same values: itself, or one it is tied to
    std::optional<uint32_t> stage; ///< recorded by the buffers of the layer
};

/// The optimizer of one pipeline stage.
struct Stage0Stage {
    FileId model = kNoFile;
    std::vector<Stage0Group> groups;
    uint64_t weight = 0; ///< of all groups
    std::vector<Shape> shapes; ///< of all parameters, ascending; empty if not all are known
};

/// The layer files and optimizers of a run without ZeRO, of one tensor slice.
struct Stage0Pipeline {
    CheckpointKind kind = CheckpointKind::Torch;
    std::deque<std::string> keys; ///< the names of `tensors` inside their layers
    std::vector<ModuleTensor> tensors; ///< of all layers
    std::vector<Stage0Layer> layers; ///< ascending
    std::vector<Stage0Stage> stages;

    [[nodiscard]] bool isFlat() const { return hasFlatMasters(kind); }
    [[nodiscard]] uint64_t weightOf(uint32_t tensor) const { return isFlat() ? tensors[tensor].elements : 1; }
};

Result<Stage0Pipeline> readStage0Pipeline(Reading& reading, const ParallelDegrees& degrees, uint32_t slice);

/// The first elements of tensors in several files.
class TensorSamples
{
public:
    explicit TensorSamples(const Reading& reading)
        : m_reading(reading)
    {
    }

    /// Reads up to `elements` elements, at most `kMax`. Empty if they cannot be read.
    std::vector<uint8_t> read(FileId file, uint64_t byte, uint64_t elements, DType type);

private:
    static constexpr uint64_t kMax = 64;

    const Reading& m_reading;
    std::map<uint32_t, std::unique_ptr<io::ReadFile>> m_files;
};

} // namespace shardscope
