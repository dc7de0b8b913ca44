// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify_export.h"

#include "core/base/string_hash.h"
#include "core/base/text.h"
#include "core/engine/written_tensors.h"
#include "core/plan/export.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>

namespace shardscope {

namespace {

constexpr uint64_t kIndexLimit = uint64_t{1} << 30;
constexpr std::string_view kIndexEnd = ".index.json";

tl::unexpected<Error> wrong(std::string what, const io::Path& path)
{
    return fail(ErrorCode::VerifyFailed, std::move(what), path.string(),
        "this is a defect: nothing stands under the final name; please report it");
}

/// The device, not the bytes: the same command may well succeed.
bool isDevice(const Error& error)
{
    return error.code == ErrorCode::Unreadable || error.code == ErrorCode::NotFound
        || error.code == ErrorCode::Cancelled;
}

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

/// The written files, by their own headers.
class ExportOutput final : public OutputModel
{
public:
    explicit ExportOutput(const ExportPlan& plan)
        : m_plan(plan)
        , m_seen(plan.exported().size(), false)
    {
        for (uint32_t i = 0; i < plan.exported().size(); ++i)
            m_numbers.emplace(std::pair(plan.exported()[i].state, plan.exported()[i].name), i);
    }

    Status readFile(io::FileSystem& files, const io::Path& folder, const std::string& name, JobContext& job)
    {
        const io::Path path = folder / name;
        const auto tensors = writtenTensors(files, path, job);
        if (!tensors)
            return isDevice(tensors.error())
                ? Status(forward(tensors.error()))
                : Status(wrong("what was written does not open again: " + tensors.error().message, path));
        std::vector<ElementRun>& runs = m_runs[name];
        for (const SafeTensor& tensor : *tensors) {
            const auto number = m_numbers.find({stateOf(name), tensor.name});
            if (number == m_numbers.end() || m_seen[number->second])
                return wrong("`" + toValidUtf8(tensor.name) + "` is there without being planned", path);
            const ExportTensor& meant = m_plan.exported()[number->second];
            if (tensor.dtype != meant.dtype || tensor.shape != meant.shape)
                return wrong(
                    "`" + toValidUtf8(tensor.name) + "` has another dtype or shape than was planned", path);
            m_seen[number->second] = true;
            m_fileOf[stateOf(name)][tensor.name] = name;
            if (tensor.bytes > 0)
                runs.push_back({tensor.byteOffset, tensor.bytes, number->second, 0});
        }
        return {};
    }

    /// Every tensor of a state has its file in the state's index, where there is one.
    Status checkIndex(io::FileSystem& files, const io::Path& folder, const std::string& name) const
    {
        SHARDSCOPE_TRY(const std::string text, files.readSmall(folder / name, kIndexLimit));
        const auto index = nlohmann::json::parse(text, nullptr, false);
        const auto map = index.is_object() ? index.find("weight_map") : index.end();
        if (map == index.end() || !map->is_object())
            return wrong("the index that was written does not open again", folder / name);
        const std::string stem = name.substr(0, name.size() - kIndexEnd.size());
        const auto written = m_fileOf.find(stateOf(stem));
        std::map<std::string, std::string> found;
        for (const auto& [tensor, file] : map->items())
            found.emplace(tensor, file.is_string() ? file.get<std::string>() : std::string());
        if (written == m_fileOf.end() || found != written->second)
            return wrong("the index leads to other files than those that hold the tensors", folder / name);
        return {};
    }

    Status checkComplete(const io::Path& folder) const
    {
        const auto missing = std::find(m_seen.begin(), m_seen.end(), false);
        if (missing == m_seen.end())
            return {};
        const ExportTensor& tensor = m_plan.exported()[static_cast<size_t>(missing - m_seen.begin())];
        return wrong("`" + toValidUtf8(tensor.name) + "` is not there", folder);
    }

    [[nodiscard]] Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const override
    {
        const auto runs = m_runs.find(path);
        if (runs == m_runs.end())
            return std::unique_ptr<ElementRunCursor>();
        return std::unique_ptr<ElementRunCursor>(std::make_unique<RunCursor>(runs->second));
    }

private:
    /// "model.safetensors", "pytorch_model-00001-of-00002.bin" and their like hold the weights, all others
    /// the state that they are called by.
    static std::string stateOf(const std::string& file)
    {
        static constexpr std::string_view kNumbers = "-00000-of-00000";
        std::string stem = file.substr(0, file.rfind('.'));
        if (stem.size() > kNumbers.size()) {
            std::string end = stem.substr(stem.size() - kNumbers.size());
            std::ranges::replace_if(
                end, [](char c) { return c >= '0' && c <= '9'; }, '0');
            if (end == kNumbers)
                stem.resize(stem.size() - kNumbers.size());
        }
        return stem == "model" || stem == "pytorch_model" ? "weight" : stem;
    }

    const ExportPlan& m_plan;
    std::map<std::pair<std::string, std::string>, uint32_t> m_numbers; ///< state and name → number
    std::vector<bool> m_seen;
    std::map<std::string, std::map<std::string, std::string>> m_fileOf; ///< state → name → file
    StringMap<std::vector<ElementRun>> m_runs; ///< by file
};

Result<std::unique_ptr<OutputModel>> openExport(
    io::FileSystem& files, const io::Path& folder, const WritePlan& plan, JobContext& job)
{
    const auto* exported = dynamic_cast<const ExportPlan*>(&plan);
    if (exported == nullptr)
        return fail(ErrorCode::Internal, "a plan that exports is no export plan");
    auto out = std::make_unique<ExportOutput>(*exported);
    SHARDSCOPE_TRY(const auto entries, files.list(folder));
    for (const io::DirectoryEntry& entry : entries) {
        SHARDSCOPE_CHECK(job.poll());
        if (holdsTensors(entry.name))
            SHARDSCOPE_CHECK(out->readFile(files, folder, entry.name, job));
    }
    SHARDSCOPE_CHECK(out->checkComplete(folder));
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.name.ends_with(kIndexEnd))
            SHARDSCOPE_CHECK(out->checkIndex(files, folder, entry.name));
    }
    return std::unique_ptr<OutputModel>(std::move(out));
}

} // namespace

ExecuteHooks exportHooks()
{
    ExecuteHooks hooks;
    hooks.openOutput = openExport;
    return hooks;
}

} // namespace shardscope
