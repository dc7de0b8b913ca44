// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard.h"

#include "core/base/build_info.h"
#include "core/checkpoint/file_names.h"
#include "core/checkpoint/open.h"
#include "core/compare/state_digest.h"
#include "core/io/sha256.h"
#include "core/plan/reshard_advice.h"
#include "core/plan/reshard_context.h"
#include "core/torchfile/zip_layout.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr uint32_t kMaxRanks = 65536;
constexpr uint64_t kScriptLimitBytes = uint64_t{4} << 20;

enum class FileKind { Zero12Model, Zero12Optim, Zero3Model, Zero3Optim };

struct FileSpec {
    FileKind kind;
    uint32_t rank = 0;
};

Result<OutputFile> compose(const std::shared_ptr<const ReshardContext>& context, const FileSpec& spec)
{
    switch (spec.kind) {
    case FileKind::Zero12Model:
        return composeZero12Model(context);
    case FileKind::Zero12Optim:
        return composeZero12Optim(context, spec.rank);
    case FileKind::Zero3Model:
        return composeZero3Model(context, spec.rank);
    case FileKind::Zero3Optim:
        return composeZero3Optim(context, spec.rank);
    }
    return fail(ErrorCode::Internal, "unknown file kind");
}

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
        const bool zero3 = source.kind == CheckpointKind::Zero3;
        if (!zero3)
            m_specs.push_back({FileKind::Zero12Model, 0});
        for (uint32_t rank = 0; zero3 && rank < m_options.worldSize; ++rank)
            m_specs.push_back({FileKind::Zero3Model, rank});
        for (uint32_t rank = 0; rank < m_options.worldSize; ++rank)
            m_specs.push_back({zero3 ? FileKind::Zero3Optim : FileKind::Zero12Optim, rank});
        SHARDSCOPE_CHECK(measureFiles(job));
        SHARDSCOPE_CHECK(readScripts(files));
        for (const PlanTensor& tensor : m_context->tensors)
            m_readsBytes += tensor.elements * itemSize(tensor.dtype);
        m_id = makeId();
        m_batch = batchPairs(source, m_options.worldSize);
        m_mustStayEqual = shardscope::mustStayEqual(source, m_context->subGroupSize);
        m_warnings = reshardWarnings(source, m_options, m_context->subGroupSize);
        return {};
    }

    [[nodiscard]] std::string verb() const override { return "reshard"; }
    [[nodiscard]] std::string id() const override { return m_id; }
    [[nodiscard]] std::string targetName() const override
    {
        return m_options.tagOut.empty() ? m_context->source->tag : m_options.tagOut;
    }
    [[nodiscard]] std::string pointerName() const override { return m_options.writePointer ? "latest" : ""; }
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
    [[nodiscard]] uint32_t worldSize() const override { return m_options.worldSize; }
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
        return fingerprintOf(m_context->source, {digests.begin(), digests.end()}).text();
    }

    [[nodiscard]] std::string describeJson() const override
    {
        nlohmann::json out;
        out["verb"] = verb();
        out["id"] = m_id;
        out["world_size"] = m_options.worldSize;
        out["tag"] = targetName();
        out["kind"] = kindName(m_context->source->kind);
        out["source"] = {{"tag", m_context->source->tag}, {"world_size", m_context->source->parallel.dp}};
        if (m_context->subGroupSize != 0)
            out["sub_group_size"] = m_context->subGroupSize;
        return out.dump();
    }

private:
    /// Names of one length lead to archives of one size when their pickles are the same: ZeRO-3 ranks from 1
    /// on, and all optimizer files. Measuring one of them stands for all.
    Status measureFiles(JobContext& job)
    {
        std::map<std::tuple<FileKind, bool, size_t>, uint64_t> known;
        for (const FileSpec& spec : m_specs) {
            SHARDSCOPE_CHECK(job.poll());
            const std::string name = nameOf(spec);
            const bool alike = spec.kind == FileKind::Zero3Model || spec.kind == FileKind::Zero3Optim;
            const std::tuple key{spec.kind, spec.rank == 0, name.size()};
            uint64_t bytes = 0;
            if (const auto found = known.find(key); alike && found != known.end()) {
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

    [[nodiscard]] std::string nameOf(const FileSpec& spec) const
    {
        const Checkpoint& source = *m_context->source;
        switch (spec.kind) {
        case FileKind::Zero12Model:
            return source.file(source.rank0Model).name;
        case FileKind::Zero3Model:
            return zero3ModelFileName(spec.rank, 0);
        default:
            return optimFileName(spec.rank, 0, source.file(source.rank0Optim).name.starts_with("bf16_"));
        }
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
        return "reshard|" + std::string(buildInfo().version) + "|" + std::to_string(m_options.worldSize) + "|"
            + targetName() + "|" + pointerName() + "|" + std::to_string(m_context->subGroupSize) + "\n";
    }

    std::shared_ptr<const ReshardContext> m_context;
    ReshardOptions m_options;
    std::vector<FileSpec> m_specs;
    std::vector<PlannedFile> m_files;
    std::vector<OutputFile> m_beside;
    uint64_t m_readsBytes = 0;
    uint64_t m_writesBytes = 0;
    std::string m_id;
    std::vector<BatchPair> m_batch;
    std::vector<std::pair<std::string, std::string>> m_mustStayEqual;
    std::vector<Finding> m_warnings;
};

bool isPlainTag(const std::string& tag)
{
    return !tag.empty() && tag.front() != '.' && tag.find('/') == std::string::npos
        && tag.find('\0') == std::string::npos && tag.size() <= 200;
}

Status checkKind(const Checkpoint& source)
{
    switch (source.kind) {
    case CheckpointKind::Zero1:
    case CheckpointKind::Zero2:
    case CheckpointKind::Bf16:
    case CheckpointKind::Zero3:
        return {};
    default:
        return fail(ErrorCode::Unsupported,
            "a checkpoint of kind " + std::string(kindName(source.kind)) + " cannot be resharded yet",
            source.tagFolder.string(), "give the ZeRO checkpoint that it was made from");
    }
}

Status checkOptions(const Checkpoint& source, const ReshardOptions& options)
{
    if (options.worldSize == 0 || options.worldSize > kMaxRanks)
        return fail(
            ErrorCode::Usage, "the target world size must be between 1 and " + std::to_string(kMaxRanks));
    if (options.subGroupSize && source.kind != CheckpointKind::Zero3)
        return fail(ErrorCode::Usage,
            "sub-groups exist under ZeRO-3 only; this is " + std::string(kindName(source.kind)));
    if (options.subGroupSize && *options.subGroupSize == 0)
        return fail(ErrorCode::Usage, "the sub-group size must be at least 1 element");
    if (!options.tagOut.empty() && !isPlainTag(options.tagOut))
        return fail(ErrorCode::Usage, "a tag is a plain folder name that does not begin with a dot");
    if (!options.tagOut.empty() && source.wrapper == "transformers"
        && !options.tagOut.starts_with("global_step"))
        return fail(ErrorCode::Usage, "transformers finds only tags that begin with global_step", {},
            "choose a name such as global_step" + std::to_string(source.steps.globalSteps.value_or(0)));
    return {};
}

Result<uint64_t> chooseSubGroupSize(const Checkpoint& source, const ReshardOptions& options)
{
    if (source.kind != CheckpointKind::Zero3)
        return 0;
    if (options.subGroupSize)
        return *options.subGroupSize;
    if (source.subGroupSize)
        return *source.subGroupSize;
    return fail(ErrorCode::Refused, "the source does not tell the sub_group_size it was cut for",
        source.tagFolder.string(), "name the one the resumed run will use with --sub-group-size");
}

} // namespace

Result<std::shared_ptr<const ReshardPlan>> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job)
{
    if (source->supported && source->kind != CheckpointKind::Unknown)
        SHARDSCOPE_CHECK(checkKind(*source));
    if (source->modelError) // names the findings behind it
        SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
    SHARDSCOPE_CHECK(checkOptions(*source, options));
    SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
    SHARDSCOPE_TRY(const uint64_t subGroupSize, chooseSubGroupSize(*source, options));
    SHARDSCOPE_TRY(ReshardTarget target, layOutTarget(*source, options.worldSize, subGroupSize));
    SHARDSCOPE_TRY(
        auto context, makeReshardContext(files, std::move(source), std::move(target), subGroupSize, job));
    auto plan = std::make_shared<ReshardPlanImpl>(std::move(context), options);
    SHARDSCOPE_CHECK(plan->build(files, job));
    return std::shared_ptr<const ReshardPlan>(std::move(plan));
}

} // namespace shardscope
