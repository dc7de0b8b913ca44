// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <memory>
#include <unordered_map>

namespace shardscope {

/// A tensor of `module` that may be one of the optimizer's parameters: no buffer, and no second name of
/// another.
struct ModuleTensor {
    std::string_view name; ///< lives as long as the model file's content, or as Stage0Stages
    Shape shape;
    uint64_t elements = 0;
    DType dtype = DType::Unknown;
    StoredRun run;
    bool contiguous = true;
};

/// In the order of the module. What cannot be used is left out; readModule() says why.
std::vector<ModuleTensor> listModuleTensors(const Reading& reading);

/// Holds masters against the copies in `module` that were cast from them when the step ended
/// (runtime/fp16/fused_optimizer.py, unfused_optimizer.py): bit for bit.
class CopyEvidence
{
public:
    /// Masters lie in the model file `masters`, copies where their runs say. What cannot be read agrees.
    CopyEvidence(const Reading& reading, const std::vector<ModuleTensor>& copies, FileId masters);

    /// Whether the first elements of a copy are those of the masters from `byte` of their file on.
    [[nodiscard]] bool agrees(uint32_t copy, uint64_t byte, DType masterType);

private:
    using Bytes = std::vector<uint8_t>;
    static constexpr uint64_t kSample = 32; ///< elements
    static constexpr size_t kMostKept = 4096;

    const Bytes& sampleOf(uint32_t copy);
    const Bytes& mastersAt(uint64_t byte, uint32_t bytes);
    Bytes read(FileId file, uint64_t byte, uint64_t bytes);

    const Reading& m_reading;
    const std::vector<ModuleTensor>& m_copies;
    FileId m_mastersFile;
    std::unordered_map<uint32_t, std::unique_ptr<io::ReadFile>> m_files; ///< by file; null: unreadable
    std::vector<Bytes> m_samples;
    std::unordered_map<uint64_t, Bytes> m_masters;
    bool m_failed = false;
};

} // namespace shardscope
