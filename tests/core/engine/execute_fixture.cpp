// SPDX-License-Identifier: Apache-2.0
#include "tests/core/engine/execute_fixture.h"

namespace shardscope::test {

namespace {

class PlanModel final : public OutputModel
{
public:
    explicit PlanModel(const SyntheticPlan& plan)
        : m_plan(plan)
    {
    }
    [[nodiscard]] Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const override
    {
        return std::unique_ptr<ElementRunCursor>(std::make_unique<Cursor>(m_plan.runsOf(path)));
    }

private:
    struct Cursor final : ElementRunCursor {
        explicit Cursor(std::vector<SyntheticPlan::Run> list)
            : runs(std::move(list))
        {
        }
        bool next(ElementRun& run) override
        {
            if (at == runs.size())
                return false;
            run = {runs[at].offset, runs[at].bytes, runs[at].tensor, runs[at].firstElement};
            ++at;
            return true;
        }
        std::vector<SyntheticPlan::Run> runs;
        size_t at = 0;
    };

    const SyntheticPlan& m_plan;
};

} // namespace

std::map<std::string, std::string> treeOf(const std::filesystem::path& folder)
{
    std::map<std::string, std::string> out;
    if (!std::filesystem::exists(folder))
        return out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().lexically_relative(folder).string();
        if (entry.is_directory())
            out[name + '/'];
        else
            out[name] = slurp(entry.path());
    }
    return out;
}

ExecuteHooks modelHooks(const SyntheticPlan& plan)
{
    ExecuteHooks hooks;
    hooks.openOutput = [&plan](io::FileSystem&, const io::Path&, const WritePlan&,
                           JobContext&) -> Result<std::unique_ptr<OutputModel>> {
        return std::unique_ptr<OutputModel>(std::make_unique<PlanModel>(plan));
    };
    hooks.fingerprint = [](io::FileSystem&, const WritePlan&, std::span<const Digest> tensors,
                            JobContext&) -> Result<std::string> {
        Digest sum;
        for (const Digest& digest : tensors)
            sum += digest;
        return sum.text();
    };
    return hooks;
}

std::string expectedFingerprint(const SyntheticPlan& plan)
{
    Digest sum;
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        const PlanTensor& tensor = plan.tensors[i];
        const std::string& bytes = plan.tensorBytes()[i];
        sum += digestElements(digestKey(tensor.name, tensor.state), itemSize(tensor.dtype), 0,
            {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    }
    return sum.text();
}

Result<ExecuteReport> run(const Bench& bench, const ExecuteOptions& options)
{
    return run(bench, options, io::realFileSystem());
}

Result<ExecuteReport> run(const Bench& bench, const ExecuteOptions& options, io::FileSystem& files)
{
    JobContext job;
    return runPlan(files, bench.plan, options, modelHooks(bench.plan), job);
}

void checkComplete(const Bench& bench)
{
    auto found = treeOf(bench.target());
    CHECK(found.erase("shardscope.json") == 1);
    std::erase_if(found, [](const auto& entry) { return entry.first.back() == '/'; });
    CHECK(found.size() + 1 == bench.plan.expected().size()); // one file is next to the target
    for (const auto& [path, bytes] : bench.plan.expected()) {
        INFO(path);
        if (path.starts_with("../")) {
            CHECK(slurp(bench.target() / path) == bytes);
            continue;
        }
        CHECK(found.contains(path));
        CHECK(found[path] == bytes);
    }
    CHECK(slurp(bench.destination() / "latest") == bench.plan.targetName);
    CHECK(slurp(bench.destination() / "zero_to_fp32.py") == "print('hello')\n");
    CHECK_FALSE(std::filesystem::exists(bench.work()));
}

void checkNothingCommitted(const Bench& bench)
{
    CHECK_FALSE(std::filesystem::exists(bench.target()));
    CHECK_FALSE(std::filesystem::exists(bench.destination() / "latest"));
}

} // namespace shardscope::test
