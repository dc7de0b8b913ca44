// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <memory>
#include <unordered_map>

namespace shardscope {

/// A tensor of `module` that may be one of the optimizer's parameters. Buffers and second names of tied
/// tensors are excluded.
struct ModuleTensor {
    std::string_view name; ///< valid as long as the model file's content or Stage0Stages
    Shape shape;
    uint64_t elements = 0;
    DType dtype = DType::Unknown;
    StoredRun run;
    bool contiguous = true;
};

/// In the order of the module. Unusable tensors are left out; readModule() reports the reason.
std::vector<ModuleTensor> listModuleTensors(const Reading& reading);

/// Compares masters bit for bit with the copies in `module`, which were cast from them at the end of the step
/// (runtime/fp16/fused_optimizer.py, unfused_optimizer.py).
class CopyEvidence
{
public:
    /// Masters are in the model file `masters`. The runs say where the copies are. Values that cannot be read
    /// count as matching.
    CopyEvidence(const Reading& reading, const std::vector<ModuleTensor>& copies, FileId masters);

    /// Whether a copy's first elements match the masters that start at `byte` of their file.
    [[nodiscard]] bool agrees(uint32_t copy, uint64_t byte, DType masterType);

private:
    using Bytes = std::vector<uint8_t>;
    static constexpr uint64_t kSample = 32; ///< elements
    static constexpr size_t kMaxKept = 4096;

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
