// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_writer.h"
#include "core/engine/ensure/ensure.h"
#include "core/engine/verify/run_list.h"
#include "core/engine/verify/run_tags.h"
#include "core/report/summary/report_head.h"
#include "core/report/text/text_table.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The runs in a folder, and what is not known of the folder.
struct RunsAnswer {
    RunsFolder folder;
    std::vector<RunSummary> runs;
};

/// What `tags` answers: the tags that were looked at, oldest first. With `runs`, PATH is no run but holds
/// them: then `run` has only the folder, and there are no tags.
struct TagsAnswer {
    std::string path; ///< PATH as it was given
    RunTags run;
    std::vector<TagSummary> tags;
    std::optional<RunsAnswer> runs = {};

    [[nodiscard]] const TagSummary* newestComplete() const;
};

/// The answer of `tags`, and of `tags --newest-complete`. `report`: of a file.
void writeTagsJson(const TextSink& sink, const TagsAnswer& answer, const ReportHead* report = nullptr);
/// The tags as comma-separated values, or the runs; the head is in comments before them.
void writeTagsCsv(const TextSink& sink, const TagsAnswer& answer, const ReportHead& head);
std::string tagsSchema();
void writeTagsText(const TextSink& sink, const TextStyle& style, const TagsAnswer& answer);
/// One line for a person: why the tag is not complete.
std::string whyIncomplete(const TagSummary& tag);
/// What is wrong with a run, as far as listing it shows: its pointer file, and newer tags that are not
/// complete. A line each; raw.
std::vector<std::string> runProblems(const RunSummary& run);
/// What listing runs does not read, in one sentence.
inline constexpr std::string_view kRunsNotChecked = "Names, sizes and headers of the newest tags were read. "
                                                    "Values, and the metadata of all ranks, were not.";

/// The answer of `ensure`. `path`: PATH as it was given.
void writeEnsureJson(
    const TextSink& sink, const std::string& path, uint32_t worldSize, const EnsureResult& result);
std::string ensureSchema();
/// Why there is no folder to resume from, without a final point.
std::string noTagText(const RunTags& run);
/// A warning about a tag with parts that no run saved.
std::string ensureMarksText(const TagSummary& tag, const std::vector<Finding>& marks);
/// Why there is none, with tags that cannot be used, the newest first.
std::string noUsableTagText(const std::vector<TagSummary>& passedOver);
/// What a person wants to know besides the folder: tags that were passed over, what was made and removed.
std::string ensureNotes(const EnsureResult& result);

} // namespace shardscope
