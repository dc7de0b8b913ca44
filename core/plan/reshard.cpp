// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard.h"

#include "core/base/build_info.h"
#include "core/checkpoint/file_names.h"
#include "core/checkpoint/open.h"
#include "core/compare/state_digest.h"
#include "core/io/sha256.h"
#include "core/plan/reshard_advice.h"
#include "core/plan/reshard_context.h"
#include "core/plan/reshard_options.h"
#include "core/plan/scaler_forms.h"
#include "core/plan/stage0_form.h"
#include "core/plan/target_files.h"
#include "core/torchfile/zip_layout.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr uint64_t kScriptLimitBytes = uint64_t{4} << 20;

Result<uint64_t> bytesOf(const OutputFile& file)
{
    std::vector<ZipRecordSpec> records;
    records.reserve(file.records.size());
    for (const OutputRecord& record : file.records)
        records.push_back({record.name, record.bytes});
    SHARDSCOPE_TRY(const ZipLayout layout, ZipLayout::make(file.prefix, std::move(records)));
    return layout.totalBytes();
}

class ReshardPlanImpl final : public ReshardPlan
{
public:
    ReshardPlanImpl(std::shared_ptr<const ReshardContext> context, ReshardOptions options)
        : m_context(std::move(context))
        , m_options(std::move(options))
    {
    }

    Status build(io::FileSystem& files, JobContext& job)
    {
        const Checkpoint& source = *m_context->source;
        m_specs = targetFiles(*m_context);
        SHARDSCOPE_CHECK(measureFiles(job));
        if (!isUniversal() && !isStage0(targetKind())) // they merge shards
            SHARDSCOPE_CHECK(readScripts(files));
        for (const PlanTensor& tensor : m_context->tensors)
            m_readsBytes += tensor.elements * itemSize(tensor.dtype);
        m_id = makeId();
        if (!isUniversal())
            m_batch = batchPairs(source, m_options.worldSize);
        m_mustStayEqual = shardscope::mustStayEqual(source, targetKind(), m_context->subGroupSize);
        m_warnings = reshardWarnings(source, targetKind(), m_options, m_context->subGroupSize);
        return {};
    }

    [[nodiscard]] std::string verb() const override { return isUniversal() ? "convert" : "reshard"; }
    [[nodiscard]] std::string id() const override { return m_id; }
    [[nodiscard]] std::string targetName() const override { return targetTag(*m_context->source, m_options); }
    [[nodiscard]] std::string pointerName() const override
    {
        if (!m_options.writePointer)
            return {};
        return isUniversal() ? "latest_universal" : "latest";
    }
    [[nodiscard]] const std::vector<PlanSource>& sources() const override { return m_context->sources; }
    [[nodiscard]] const std::vector<PlanTensor>& tensors() const override { return m_context->tensors; }
    [[nodiscard]] const std::vector<PlannedFile>& files() const override { return m_files; }
    [[nodiscard]] Result<OutputFile> recipe(size_t i) const override
    {
        return compose(m_context, m_specs[i]);
    }
    [[nodiscard]] std::vector<OutputFile> besideFiles() const override { return m_beside; }
    [[nodiscard]] uint64_t readsBytes() const override { return m_readsBytes; }
    [[nodiscard]] uint64_t writesBytes() const override { return m_writesBytes; }
    [[nodiscard]] const std::vector<Finding>& warnings() const override { return m_warnings; }
    [[nodiscard]] uint32_t worldSize() const override { return m_context->target.ranks; }
    [[nodiscard]] CheckpointKind targetKind() const override { return m_context->target.kind; }
    [[nodiscard]] std::optional<uint64_t> subGroupSize() const override
    {
        return m_context->subGroupSize == 0 ? std::nullopt : std::optional(m_context->subGroupSize);
    }
    [[nodiscard]] const std::vector<BatchPair>& batch() const override { return m_batch; }
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& mustStayEqual() const override
    {
        return m_mustStayEqual;
    }
    [[nodiscard]] const ReshardOptions& options() const override { return m_options; }
    [[nodiscard]] std::vector<FlatUnit> targetUnits() const override
    {
        std::vector<FlatUnit> out;
        for (const auto& unit : m_context->target.units)
            out.push_back(*unit);
        return out;
    }

    [[nodiscard]] std::string fingerprint(std::span<const Digest> digests) const override
    {
        std::vector<Digest> ofSource(m_context->planOfTable.size());
        for (size_t i = 0; i < ofSource.size(); ++i) {
            if (m_context->planOfTable[i] != Segment::kNoTensor)
                ofSource[i] = digests[m_context->planOfTable[i]];
        }
        const Checkpoint& source = *m_context->source;
        const bool readable = source.isReadable(source.rank0Optim);
        return fingerprintOf(
            m_context->source, ofSource, readable ? targetScalerTexts(source, targetKind()) : ScalerTexts())
            .text();
    }

    [[nodiscard]] std::string describeJson() const override
    {
        nlohmann::json out;
        out["verb"] = verb();
        out["id"] = m_id;
        if (!isUniversal())
            out["world_size"] = m_options.worldSize;
        out["tag"] = targetName();
        out["kind"] = kindName(targetKind());
        out["source"] = {{"tag", m_context->source->tag}, {"kind", kindName(m_context->source->kind)},
            {"world_size", m_context->source->parallel.dp}};
        if (m_context->subGroupSize != 0)
            out["sub_group_size"] = m_context->subGroupSize;
        return out.dump();
    }

private:
    [[nodiscard]] bool isUniversal() const { return targetKind() == CheckpointKind::Universal; }

    /// Names of one length lead to archives of one size when their pickles are the same: ZeRO-3 ranks from 1
    /// on, and all optimizer files. Measuring one of them stands for all.
    Status measureFiles(JobContext& job)
    {
        std::map<std::tuple<TargetFile::Kind, bool, size_t>, uint64_t> known;
        m_files.reserve(m_specs.size());
        for (const TargetFile& spec : m_specs) {
            SHARDSCOPE_CHECK(job.poll());
            const std::string name = nameOf(*m_context, spec);
            const std::tuple key{spec.kind, spec.rank == 0, name.size()};
            uint64_t bytes = 0;
            if (const auto found = known.find(key); areAlike(*m_context, spec.kind) && found != known.end()) {
                bytes = found->second;
            } else {
                SHARDSCOPE_TRY(const OutputFile file, compose(m_context, spec));
                SHARDSCOPE_TRY(bytes, bytesOf(file));
                known.emplace(key, bytes);
            }
            m_files.push_back({name, bytes});
            m_writesBytes += bytes;
        }
        return {};
    }

    Status readScripts(io::FileSystem& files)
    {
        for (const char* name : {"zero_to_fp32.py", "zero_to_torch.py"}) {
            const io::Path path = m_context->source->runFolder / name;
            if (!files.stat(path))
                continue;
            SHARDSCOPE_TRY(std::string text, files.readSmall(path, kScriptLimitBytes));
            OutputFile script;
            script.path = name;
            script.mode = 0755;
            script.torchArchive = false;
            script.records.push_back(
                {name, text.size(), OutputRecord::Content::Literal, std::move(text), {}});
            m_beside.push_back(std::move(script));
        }
        return {};
    }

    [[nodiscard]] std::string makeId() const
    {
        std::string text = describeWithoutId();
        for (const PlanSource& source : m_context->sources) {
            const io::FileIdentity& id = source.identity;
            // Not device and inode: a plan may be run on another machine that sees the same files.
            text += source.name + "|" + std::to_string(id.bytes) + "|" + std::to_string(id.modifiedNs) + "\n";
        }
        io::Sha256 sha;
        sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        return sha.finishHex().substr(0, 16);
    }

    [[nodiscard]] std::string describeWithoutId() const
    {
        return verb() + "|" + std::string(buildInfo().version) + "|" + std::string(kindName(targetKind()))
            + "|" + std::to_string(m_options.worldSize) + "|" + targetName() + "|" + pointerName() + "|"
            + std::to_string(m_context->subGroupSize) + "\n";
    }

    std::shared_ptr<const ReshardContext> m_context;
    ReshardOptions m_options;
    std::vector<TargetFile> m_specs;
    std::vector<PlannedFile> m_files;
    std::vector<OutputFile> m_beside;
    uint64_t m_readsBytes = 0;
    uint64_t m_writesBytes = 0;
    std::string m_id;
    std::vector<BatchPair> m_batch;
    std::vector<std::pair<std::string, std::string>> m_mustStayEqual;
    std::vector<Finding> m_warnings;
};

} // namespace

Result<std::shared_ptr<const ReshardPlan>> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job)
{
    if (source->modelError) // names the findings behind it
        SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
    SHARDSCOPE_CHECK(checkOptions(*source, options));
    SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
    SHARDSCOPE_TRY(const CheckpointKind kind, targetKindOf(*source, options));
    SHARDSCOPE_TRY(const uint64_t subGroupSize, chooseSubGroupSize(*source, kind, options));
    const uint32_t ranks = kind == CheckpointKind::Universal ? 1 : options.worldSize;
    SHARDSCOPE_TRY(ReshardTarget target, layOutTarget(*source, kind, ranks, subGroupSize));
    const bool fresh = kind != source->kind || kind == CheckpointKind::Universal;
    const bool tellsOptions = std::none_of(source->groups.begin(), source->groups.end(),
        [](const ParamGroup& group) { return group.options == kNoNode; });
    if (fresh || !tellsOptions) {
        SHARDSCOPE_CHECK(requireStage0Facts(*source, kind));
        SHARDSCOPE_CHECK(requireModelFacts(*source, kind));
    }
    SHARDSCOPE_TRY(auto context,
        makeReshardContext(files, std::move(source), std::move(target), subGroupSize, fresh, job));
    auto plan = std::make_shared<ReshardPlanImpl>(std::move(context), options);
    SHARDSCOPE_CHECK(plan->build(files, job));
    return std::shared_ptr<const ReshardPlan>(std::move(plan));
}

} // namespace shardscope
