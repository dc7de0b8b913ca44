// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/export_output.h"

#include "core/base/text.h"

#include <algorithm>

namespace shardscope {

namespace {

class RunCursor final : public ElementRunCursor
{
public:
    explicit RunCursor(const std::vector<ElementRun>& runs)
        : m_runs(runs)
    {
    }

    bool next(ElementRun& run) override
    {
        if (m_at == m_runs.size())
            return false;
        run = m_runs[m_at++];
        return true;
    }

private:
    const std::vector<ElementRun>& m_runs;
    size_t m_at = 0;
};

} // namespace

tl::unexpected<Error> wrongOutput(std::string what, const io::Path& path)
{
    return fail(ErrorCode::VerifyFailed, std::move(what), path.string(),
        "no output was published; this is a defect, please report it");
}

bool isDeviceError(const Error& error)
{
    return error.code == ErrorCode::Unreadable || error.code == ErrorCode::NotFound
        || error.code == ErrorCode::Cancelled;
}

tl::unexpected<Error> notOpened(const Error& error, const io::Path& path)
{
    if (isDeviceError(error))
        return forward(error);
    return wrongOutput("the output does not open again: " + error.message, path);
}

ExportOutput::ExportOutput(const WritePlan& plan)
    : m_plan(plan)
    , m_seen(plan.exported->tensors.size(), false)
{
    for (uint32_t i = 0; i < plan.exported->tensors.size(); ++i)
        m_numbers.emplace(std::pair(plan.exported->tensors[i].state, plan.exported->tensors[i].name), i);
}

Status ExportOutput::add(const std::string& state, const std::string& file, const SafeTensor& tensor)
{
    const auto number = m_numbers.find({state, tensor.name});
    if (number == m_numbers.end() || m_seen[number->second])
        return wrongOutput("`" + toValidUtf8(tensor.name) + "` was not planned", file);
    const ExportTensor& meant = m_plan.exported->tensors[number->second];
    if (tensor.dtype != meant.dtype || tensor.shape != meant.shape)
        return wrongOutput(
            "`" + toValidUtf8(tensor.name) + "` does not have the planned dtype or shape", file);
    m_seen[number->second] = true;
    m_fileOf[state][tensor.name] = file;
    if (tensor.bytes > 0)
        m_runs[file].push_back({tensor.byteOffset, tensor.bytes, number->second, 0});
    return {};
}

Status ExportOutput::checkComplete(const io::Path& folder) const
{
    const auto missing = std::find(m_seen.begin(), m_seen.end(), false);
    if (missing == m_seen.end())
        return {};
    const ExportTensor& tensor = m_plan.exported->tensors[static_cast<size_t>(missing - m_seen.begin())];
    return wrongOutput("`" + toValidUtf8(tensor.name) + "` is missing", folder);
}

const std::map<std::string, std::string>& ExportOutput::filesOf(const std::string& state) const
{
    static const std::map<std::string, std::string> kNone;
    const auto found = m_fileOf.find(state);
    return found == m_fileOf.end() ? kNone : found->second;
}

Result<std::unique_ptr<ElementRunCursor>> ExportOutput::runsOf(const std::string& path) const
{
    const auto runs = m_runs.find(path);
    if (runs == m_runs.end())
        return std::unique_ptr<ElementRunCursor>();
    return std::unique_ptr<ElementRunCursor>(std::make_unique<RunCursor>(runs->second));
}

} // namespace shardscope
