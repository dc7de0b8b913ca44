// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/check_text.h"

#include "core/base/finding_codes.h"
#include "ui/session/check_run.h"
#include "ui/text/text.h"

#include <QStringList>

#include <array>
#include <set>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// The places that the findings of one kind name, each counted once.
struct NamedPlaces {
    std::set<std::string> names{}; ///< of parameters, or else whole places
    bool hasMore = false; ///< there are more findings than a check keeps
};

/// "1 parameter", "at least 200 parameters".
QString countedText(const NamedPlaces& places, const QString& one, const QString& many)
{
    if (places.names.size() == 1 && !places.hasMore)
        return u"1 "_s % one;
    return (places.hasMore ? u"at least "_s : QString()) % countText(places.names.size()) % u' ' % many;
}

} // namespace

QString findingCountText(std::span<const Finding> findings, bool isSupported)
{
    std::array<size_t, 3> counts{};
    for (const Finding& finding : findings)
        ++counts[static_cast<size_t>(finding.severity)];
    return findingCountText(counts, isSupported);
}

QString findingCountText(const std::array<size_t, 3>& counts, bool isSupported)
{
    const auto [infos, warnings, errors] = counts;
    QStringList parts;
    if (errors > 0)
        parts.append(errors == 1 ? u"1 error"_s : u"%1 errors"_s.arg(countText(errors)));
    if (warnings > 0)
        parts.append(warnings == 1 ? u"1 warning"_s : u"%1 warnings"_s.arg(countText(warnings)));
    if (infos > 0)
        parts.append(u"%1 info"_s.arg(countText(infos)));
    if (errors + warnings == 0)
        parts.prepend(isSupported ? u"No problems found"_s : u"Not supported"_s);
    return parts.join(errors + warnings > 0 ? u", "_s : u" · "_s);
}

QString nothingToRepairText(const std::vector<DoctorFinding>& found)
{
    bool anyError = false;
    std::set<const Diagnosis*> listed;
    QStringList names;
    for (const DoctorFinding& made : found) {
        anyError = anyError || made.finding.severity == Severity::Error;
        if (repairs(*made.diagnosis, made.finding) && listed.insert(made.diagnosis).second)
            names.append(sentenceText(made.diagnosis->name));
    }
    const QString none = anyError ? u"No error has a repair."_s : u"Nothing to repair."_s;
    return names.isEmpty() ? none : u"%1 Optional, and may have one: %2."_s.arg(none, names.join(u"; "_s));
}

QString depthText(CheckDepth depth)
{
    switch (depth) {
    case CheckDepth::Names:
        return u"names and sizes of files"_s;
    case CheckDepth::Headers:
        return u"first and last bytes"_s;
    case CheckDepth::Metadata:
        return u"directories, pickles, samples"_s;
    case CheckDepth::Bytes:
        break;
    }
    return u"every byte"_s;
}

QString targetText(const CheckTarget& target)
{
    QStringList parts;
    if (target.worldSize)
        parts.append(*target.worldSize == 1 ? u"1 GPU"_s : u"%1 GPUs"_s.arg(countText(*target.worldSize)));
    if (target.stage)
        parts.append(*target.stage == 0 ? u"no ZeRO"_s : u"ZeRO-%1"_s.arg(*target.stage));
    if (target.memoryBytes)
        parts.append(u"%1 of memory"_s.arg(bytesText(*target.memoryBytes)));
    if (target.disk)
        parts.append(u"copies in %1"_s.arg(pathText(*target.disk)));
    return parts.join(u", "_s);
}

QString checkedText(const CheckRun& run, const Checkpoint& checkpoint)
{
    const auto& result = run.result();
    if (!result)
        return {};
    if (result->stopped)
        return u"Stopped before the check was complete"_s;
    QString use = targetText(run.target());
    if (!use.isEmpty())
        use = run.depth() < CheckDepth::Metadata ? u" · not for %1, which needs metadata"_s.arg(use)
                                                 : u" · for %1"_s.arg(use);
    if (const size_t skipped = run.skipped().size(); skipped > 0)
        return u"%1 of %2 checks at %3"_s.arg(
                   countText(diagnoses().size() - std::min(skipped, diagnoses().size())),
                   countText(diagnoses().size()), run.finishedAt().toString(u"HH:mm"_s))
            % use;
    const uint64_t unread = bytesNotRead(checkpoint, run.depth());
    return (unread == 0 ? u"Read every byte at %1"_s.arg(run.finishedAt().toString(u"HH:mm"_s))
                        : u"Values not read (%1)"_s.arg(bytesText(unread)))
        % use;
}

QString copiedFaultsText(
    const std::vector<DoctorFinding>& known, const std::function<bool(const std::string& state)>& copies)
{
    const auto placesOf = [&](std::string_view code) {
        NamedPlaces places;
        for (const DoctorFinding& made : known) {
            const Finding& finding = made.finding;
            if (finding.code != code || finding.severity != Severity::Error)
                continue;
            if (finding.where.isEmpty())
                places.hasMore = true;
            else if (const ParamAddress* param = finding.where.param(); param == nullptr)
                places.names.insert(finding.where.text());
            else if (copies(param->state))
                places.names.insert(param->name);
        }
        places.hasMore = places.hasMore && !places.names.empty();
        return places;
    };
    QStringList sentences;
    const auto add
        = [&](std::string_view code, const QString& pattern, const QString& one, const QString& many) {
              if (const NamedPlaces places = placesOf(code); !places.names.empty())
                  sentences.append(sentenceText(pattern.arg(countedText(places, one, many)).toStdString()));
          };
    add("non-finite", u"%1 values that are NaN, infinite or out of range; they are copied as they are."_s,
        u"parameter holds"_s, u"parameters hold"_s);
    add("masters-not-copies",
        u"the masters of %1 do not match their 16-bit copies; they are copied as they are."_s, u"parameter"_s,
        u"parameters"_s);
    add("tied-diverged", u"the two names of %1 have different values."_s, u"tied parameter"_s,
        u"tied parameters"_s);
    add(code::kRecordCorrupt, u"%1 damaged; a job stops at one that it reads."_s, u"record is"_s,
        u"records are"_s);
    return sentences.join(u' ');
}

} // namespace shardscope::ui
