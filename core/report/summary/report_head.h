// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/build_info.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/describe/json_writer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What a checkpoint was when a report was made: enough to see later whether it is still the same one.
struct CheckpointIdentity {
    std::string path; ///< as it was opened
    std::string folder; ///< of the tag, else of the run; empty if it could not be read
    std::string tag;
    CheckpointKind kind = CheckpointKind::Unknown;
    std::string precision;
    std::string deepspeed; ///< the version that wrote it
    /// From the manifest of a job of this program; else empty. The files may have changed since it was
    /// written.
    std::string fingerprint;
    std::string fingerprintError{}; ///< why the manifest does not say it; empty without a manifest
    /// Empty where it is not known.
    std::optional<uint64_t> fingerprintVersion{};
    std::optional<uint64_t> ranks{};
    std::optional<int64_t> step{};
    std::optional<uint64_t> parameters{};
    std::optional<uint64_t> elements{};
    std::optional<uint64_t> files{};
    std::optional<uint64_t> bytes{};
};

/// Reads at most the manifest of the tag.
CheckpointIdentity identityOf(io::FileSystem& files, const Checkpoint& checkpoint, const io::Path& path);

/// What every report in a file begins with, so that it can be made again. Answers on standard output do not
/// have it: the same call prints the same bytes.
struct ReportHead {
    std::string time; ///< "2026-11-24T22:10:05Z"
    std::string command; ///< that makes the same, for a shell; empty if there is none
    std::string filter; ///< of the rows that were saved; empty: all
    std::vector<CheckpointIdentity> about;
};

/// With the time of now.
ReportHead reportHead(std::string command);
/// Seconds since 1970 as "2026-11-24T22:10:05Z".
std::string utcTimeText(int64_t seconds);

/// A line of a head.
struct ReportFact {
    std::string_view name;
    std::string text; ///< may hold bytes of names that are not printable
    bool isCode = false;
};
/// Version, time, command, filter; without what is empty.
std::vector<ReportFact> factsOf(const ReportHead& head);
/// Without the path, which is the title of what is said of the checkpoint, and without what is not known.
std::vector<ReportFact> factsOf(const CheckpointIdentity& about);
/// All of it, a line for each fact: "Time: 2026-11-24T22:10:05Z".
std::vector<std::string> headLines(const ReportHead& head);
/// The lines as comments before the header of comma-separated values: "# Time: …".
void putHeadComments(const TextSink& sink, const ReportHead& head);

void describe(auto& out, const CheckpointIdentity& about)
{
    out.is("CheckpointIdentity", "What a checkpoint was when the report was made.");
    out.name("path", about.path, "as it was opened");
    out.nameOrNull("checkpoint", about.folder, "its folder; null if it could not be read");
    out.nameOrNull("tag", about.tag);
    out.textOrNull("kind", about.folder.empty() ? std::string_view() : kindName(about.kind));
    out.field("ranks", about.ranks);
    out.textOrNull("precision", about.precision);
    out.textOrNull("deepspeed", about.deepspeed, "the version that wrote it");
    out.field("step", about.step, "global steps");
    out.field("parameters", about.parameters);
    out.field("elements", about.elements);
    out.field("files", about.files);
    out.field("bytes", about.bytes);
    out.textOrNull("fingerprint", about.fingerprint,
        "when the checkpoint was written, from the manifest of a job of this program: the files may have "
        "changed since");
    out.textOrNull("fingerprint_error", about.fingerprintError, "why it cannot be read from the manifest");
    out.field("fingerprint_version", about.fingerprintVersion);
}

void describe(auto& out, const ReportHead& head)
{
    out.is("ReportHead", "Who made a report, when and of what.");
    out.field("shardscope", buildInfo().version, "the version of this program");
    out.field("commit", buildInfo().commit);
    out.field("time", head.time, "UTC");
    out.textOrNull("command", head.command, "that makes the same, for a shell");
    out.nameOrNull("filter", head.filter, "of the rows that were saved; null: all");
    out.field("checkpoints", head.about);
}

/// `report`, in files that the window saves; null: on standard output.
void describeReport(auto& out, const ReportHead* head)
{
    out.maybe(head != nullptr, [&] {
        out.field("report", head == nullptr ? ReportHead() : *head,
            "in files that the window saves: version, time and what makes it again");
    });
}

} // namespace shardscope
