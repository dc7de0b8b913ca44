// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/string_hash.h"
#include "core/engine/verify/verify_output.h"
#include "core/plan/export/export.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// VerifyFailed: the output is not as planned.
tl::unexpected<Error> wrongOutput(std::string what, const io::Path& path);

/// Whether an error is caused by the device, not by the bytes: the same command may succeed later.
bool isDeviceError(const Error& error);

/// An error in the output: VerifyFailed unless caused by the device.
tl::unexpected<Error> notOpened(const Error& error, const io::Path& path);

/// Compares the tensors in the written files of an export, as recorded in their headers, with the planned
/// ones. Filled by one thread; afterwards runsOf() is thread-safe.
class ExportOutput final : public OutputModel
{
public:
    explicit ExportOutput(const WritePlan& plan);

    /// Adds a tensor of `state` in `file` (relative to the target). VerifyFailed if it was not planned, was
    /// planned with another dtype or shape, or is there twice. Tensors of a file are added in the order of
    /// their bytes.
    Status add(const std::string& state, const std::string& file, const SafeTensor& tensor);
    /// Success if every planned tensor was added.
    [[nodiscard]] Status checkComplete(const io::Path& folder) const;
    /// Name → file, for the added tensors of a state.
    [[nodiscard]] const std::map<std::string, std::string>& filesOf(const std::string& state) const;

    [[nodiscard]] Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const override;

private:
    const WritePlan& m_plan;
    std::map<std::pair<std::string, std::string>, uint32_t> m_numbers; ///< state and name → number
    std::vector<bool> m_seen;
    std::map<std::string, std::map<std::string, std::string>> m_fileOf; ///< state → name → file
    StringMap<std::vector<ElementRun>> m_runs; ///< by file
};

} // namespace shardscope
