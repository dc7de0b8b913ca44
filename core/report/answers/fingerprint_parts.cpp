// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/fingerprint_parts.h"

#include "core/base/text.h"
#include "core/report/answers/fingerprint_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kShownBytes = 32;

std::string shortened(const std::string& text)
{
    return text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + " …";
}

} // namespace

uint64_t expectedOf(const PartialFingerprint& fingerprint, const std::string& state)
{
    const auto found = std::ranges::find(fingerprint.expected, state, &StateShare::state);
    return found == fingerprint.expected.end() ? 0 : found->elements;
}

void writeStateTable(const TextSink& sink, const TextStyle& style, const std::vector<StateShare>& states,
    const std::vector<DigestedScalar>& scalars)
{
    sink("\n");
    TextTable table({{"part"}, {"digest"}, {"value"}});
    for (const StateShare& share : states)
        table.add({share.state, share.digest.text(), formatCount(share.elements) + " elements"});
    for (const DigestedScalar& scalar : scalars)
        table.add({scalar.state.empty() ? scalar.name : scalar.name + " " + scalar.state,
            scalar.digest.text(), shortened(scalar.text)});
    table.write(sink, style, "  ");
}

void writePartialText(const TextSink& sink, const TextStyle& style, const PartialSubject& subject,
    const PartialFingerprint& fingerprint)
{
    const auto whole = fingerprint.whole();
    const std::vector<StateShare> covered = fingerprint.covered();
    sink((whole ? style.bold(whole->text()) : style.yellow("not complete")) + "  "
        + (subject.context != nullptr ? printable(checkpointFolder(subject.context->checkpoint))
                                      : printable(fingerprint.origin.tag))
        + "\n");
    uint64_t bytes = 0;
    for (const FileDigest& file : fingerprint.files)
        bytes += file.bytes;
    TextFields fields;
    fields.add("digested",
        fmt::format("{} files, {} ({} bytes)", formatCount(fingerprint.files.size()), formatBytes(bytes),
            formatCount(bytes)));
    for (const StateShare& share : covered)
        fields.add(printable(share.state),
            fmt::format("{} of {} elements", formatCount(share.elements),
                formatCount(expectedOf(fingerprint, share.state))));
    fields.write(sink, style, "  ");
    for (const std::string& name : fingerprint.missing)
        sink("  missing  " + printable(name) + "\n");
    if (whole)
        writeStateTable(sink, style, covered, fingerprint.scalars);
    else
        sink("  `fingerprint --combine` adds the JSON answers of all machines\n");
}

} // namespace shardscope
