// SPDX-License-Identifier: Apache-2.0
#include "ui/text/unreadable.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString lossWords(bool unreadable)
{
    return unreadable ? u"unreadable"_s : u"missing"_s;
}

} // namespace

bool isUnreadable(const Checkpoint& checkpoint, FileId file)
{
    if (index(file) >= checkpoint.files.size() || checkpoint.file(file).status != FileStatus::Damaged)
        return false;
    const std::string& name = checkpoint.file(file).name;
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(), [&](const Finding& finding) {
        return finding.code == code::kFileUnreadable && finding.where.file() == name;
    });
}

bool isUnreadable(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t share)
{
    const Checkpoint& part = checkpoint.partOf(unit);
    const auto& files = unit.kind == UnitKind::Frozen ? part.modelFiles : part.optimFiles;
    const uint32_t holder = unit.dpRankOf(share);
    return holder < files.size() && isUnreadable(checkpoint, files[holder]);
}

QString lossText(const Checkpoint& checkpoint, const Fragment& fragment)
{
    if (fragment.file != kNoFile)
        return lossWords(true); // its place in the file is known
    if (fragment.unit == kNoUnit)
        return lossWords(isUnreadable(checkpoint, checkpoint.templateModel));
    const FlatUnit& unit = checkpoint.units[index(fragment.unit)];
    const auto share = checkpoint.shareOf(unit, fragment.rank);
    return lossWords(share && isUnreadable(checkpoint, unit, *share));
}

QString lossText(const Checkpoint& checkpoint, ParamId param, const std::string& state, uint64_t element)
{
    const auto fragments = fragmentsOf(checkpoint, param, state, element, element + 1);
    return fragments && !fragments->empty() ? lossText(checkpoint, fragments->front()) : lossWords(false);
}

QString fileStatusText(const Checkpoint& checkpoint, FileId file)
{
    return isUnreadable(checkpoint, file) ? lossWords(true) : statusText(checkpoint.file(file).status);
}

} // namespace shardscope::ui
