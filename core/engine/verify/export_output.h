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

/// VerifyFailed: what was written is not what was meant.
tl::unexpected<Error> wrongOutput(std::string what, const io::Path& path);

/// Whether an error is the device's, not that of the bytes: the same command may well succeed.
bool isDeviceError(const Error& error);

/// An error in what was written: VerifyFailed where it is not the device's.
tl::unexpected<Error> notOpened(const Error& error, const io::Path& path);

/// The tensors that the written files of an export hold, as their own headers tell, held against those that
/// were planned. Filled by one thread; runsOf() is thread-safe then.
class ExportOutput final : public OutputModel
{
public:
    explicit ExportOutput(const ExportPlan& plan);

    /// A tensor that `file` (relative to the target) holds as one of `state`'s. VerifyFailed where it was not
    /// planned, or with another dtype or shape, or is there twice. Those of a file come in the order of their
    /// bytes.
    Status add(const std::string& state, const std::string& file, const SafeTensor& tensor);
    /// Success when every planned tensor was added.
    [[nodiscard]] Status checkComplete(const io::Path& folder) const;
    /// Name → file, of the tensors that were added for a state.
    [[nodiscard]] const std::map<std::string, std::string>& filesOf(const std::string& state) const;

    [[nodiscard]] Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const override;

private:
    const ExportPlan& m_plan;
    std::map<std::pair<std::string, std::string>, uint32_t> m_numbers; ///< state and name → number
    std::vector<bool> m_seen;
    std::map<std::string, std::map<std::string, std::string>> m_fileOf; ///< state → name → file
    StringMap<std::vector<ElementRun>> m_runs; ///< by file
};

} // namespace shardscope
