// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/slice_merge.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/compare/digest/slice_replicas.h"
#include "core/layout/slices/merged_slices.h"
#include "core/layout/slices/slice_rules.h"
#include "core/plan/reshard/slice_split.h"
#include "core/plan/reshard/stage_split.h"

namespace shardscope {

namespace {

constexpr size_t kMaxNamed = 20;

/// Looks at the slices themselves where a rule makes a claim about their values.
class ClaimCheck
{
public:
    ClaimCheck(io::FileSystem& files, const Checkpoint& merged, JobContext& job)
        : m_files(files)
        , m_merged(merged)
        , m_slices(*merged.merged)
        , m_job(job)
    {
    }

    Status run(std::vector<Finding>& warnings)
    {
        for (size_t i = 0; i < m_slices.tied.size(); ++i) {
            if (m_slices.tied[i].size() > 1)
                SHARDSCOPE_CHECK(checkTied(m_merged.params[i].name, m_slices.tied[i]));
        }
        return m_slices.of->parallel.tp > 1 ? checkRules(warnings) : Status();
    }

private:
    /// What patterns claim.
    Status checkRules(std::vector<Finding>& warnings)
    {
        std::vector<std::string> copies;
        std::vector<std::string> unnamed;
        for (uint32_t i = 0; i < m_merged.params.size(); ++i) {
            const std::string& name = m_merged.params[i].name;
            if (m_slices.isRuled[i] && m_slices.alike[i].size() > 1)
                SHARDSCOPE_CHECK(checkAlike(name, m_slices.alike[i]));
            if (m_slices.unnamed[i].size() < 2)
                continue;
            SHARDSCOPE_TRY(const bool same, areCopies(m_slices.unnamed[i]));
            (same ? copies : unnamed).push_back(name);
        }
        if (!copies.empty())
            return fail(ErrorCode::Refused,
                "no pattern names these parameters, and their slices are all equal, so a merge end to end "
                "would repeat them: "
                    + nameList(copies),
                m_merged.tagFolder.string(),
                "name them in `tp_replicated_parameter_patterns` if they are replicated");
        if (!unnamed.empty())
            warnings.push_back({code::kStockLoaderTrap, Severity::Warning,
                "no pattern names these parameters; their slices are merged along the first dimension, as "
                "DeepSpeed's converter does: "
                    + nameList(unnamed),
                {}, {}});
        return {};
    }

    Status checkTied(const std::string& name, const std::vector<ParamId>& stages)
    {
        SHARDSCOPE_TRY(const SliceComparison found, compareSlices(m_files, *m_slices.of, stages, m_job));
        if (found.areEqual())
            return {};
        return fail(ErrorCode::Refused,
            "the pipeline stages that share `" + toValidUtf8(name) + "` hold different values of `"
                + found.state + "`, from element " + std::to_string(found.element) + " on",
            m_merged.tagFolder.string(),
            "only one of them can be kept, and it is not known which one is right");
    }

    Status checkAlike(const std::string& name, const std::vector<ParamId>& slices)
    {
        SHARDSCOPE_TRY(const SliceComparison found, compareSlices(m_files, *m_slices.of, slices, m_job));
        if (found.areEqual())
            return {};
        return fail(ErrorCode::Refused,
            "a pattern says that all slices of `" + toValidUtf8(name) + "` are equal, but slice "
                + std::to_string(found.slice) + " differs from slice 0 in `" + found.state + "` from element "
                + std::to_string(found.element) + " on",
            m_merged.tagFolder.string(),
            "the stock converter would refuse it, or write a mean that no slice had");
    }

    Result<bool> areCopies(const std::vector<ParamId>& slices)
    {
        const Parameter& first = m_slices.of->params[index(slices.front())];
        for (const ParamId slice : slices) {
            if (m_slices.of->params[index(slice)].shape != first.shape || first.elements == 0)
                return false;
        }
        SHARDSCOPE_TRY(const SliceComparison found, compareSlices(m_files, *m_slices.of, slices, m_job));
        return found.areEqual() && !found.allZero;
    }

    io::FileSystem& m_files;
    const Checkpoint& m_merged;
    const MergedSlices& m_slices;
    JobContext& m_job;
};

/// The patterns that the user gives, each of which must fit a name.
Result<std::optional<SliceRules>> givenRules(const Checkpoint& source, const ReshardOptions& options)
{
    if (!options.patterns)
        return std::optional<SliceRules>();
    SHARDSCOPE_TRY(SliceRules given, SliceRules::fromJson(*options.patterns, "--patterns"));
    std::vector<std::string> names;
    const auto addNames = [&](const Checkpoint& part) {
        for (const Parameter& param : part.params)
            names.push_back(param.name);
    };
    if (source.parts.empty())
        addNames(source);
    for (const CheckpointPtr& part : source.parts)
        addNames(*part);
    if (const std::string unused = given.unusedPattern(names); !unused.empty())
        return fail(ErrorCode::Usage, "the pattern `" + unused + "` matches no parameter of the checkpoint",
            source.tagFolder.string(), Hint::command("params") + " lists their names, up to the colon");
    return std::optional(std::move(given));
}

} // namespace

std::string nameList(const std::vector<std::string>& names)
{
    std::string out;
    for (size_t i = 0; i < names.size() && i < kMaxNamed; ++i)
        out += (i == 0 ? "`" : ", `") + toValidUtf8(names[i]) + "`";
    return names.size() > kMaxNamed ? out + " and " + std::to_string(names.size() - kMaxNamed) + " more"
                                    : out;
}

Result<SliceMerge> mergeForPlan(
    io::FileSystem& files, const CheckpointPtr& source, const ReshardOptions& options, JobContext& job)
{
    const bool cuts = splitsSlices(*source, options);
    const bool splits = splitsStages(*source, options);
    if (splits)
        SHARDSCOPE_CHECK(checkStageSplit(*source, options));
    else if (cuts)
        SHARDSCOPE_CHECK(checkSplit(*source, options));
    SHARDSCOPE_TRY(const std::optional<SliceRules> rules, givenRules(*source, options));
    const SliceRules* given = rules ? &*rules : nullptr;
    SliceMerge out;
    SHARDSCOPE_TRY(out.source,
        splits     ? mergeStages(source, given)
            : cuts ? mergeSlices(source, given)
                   : mergeSlicesAndStages(source, given));
    if (source->parallel.pp > 1 && source->parallel.tp > 1) {
        if (options.form == TargetForm::Native)
            return fail(ErrorCode::Unsupported,
                "this build does not merge the layer files of tensor slices, which a native pipeline loads",
                source->tagFolder.string(),
                Hint::command("convert --to universal")
                    + " merges masters and states, which is all that a universal load reads");
        out.warnings.push_back({code::kStockLoaderTrap, Severity::Warning,
            "the layer files of tensor slices are not copied: buffers of the model are those of the run that "
            "loads",
            {}, {}});
    }
    const MergedSlices& slices = *out.source->merged;
    for (size_t i = 0; options.form == TargetForm::Native && !cuts && i < slices.marks.size(); ++i) {
        if (slices.marks[i].paddingRows > 0)
            return fail(ErrorCode::Refused,
                "`" + toValidUtf8(out.source->params[i].name) + "` has "
                    + std::to_string(slices.marks[i].paddingRows)
                    + " rows of padding after its vocabulary; it is not known how many a run without tensor "
                      "slices has",
                source->tagFolder.string(),
                "give all rows of that run, padding included, with --padded-vocab-size; "
                    + Hint::command("convert --to universal") + " leaves them to the run that loads");
    }
    SHARDSCOPE_CHECK(ClaimCheck(files, *out.source, job).run(out.warnings));
    if (cuts)
        SHARDSCOPE_CHECK(splitForPlan(source, rules, options, out));
    if (splits)
        SHARDSCOPE_CHECK(splitStagesForPlan(options, out));
    return out;
}

} // namespace shardscope
