// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_ways.h"

#include "core/base/text.h"
#include "ui/models/address_selection.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString placeText(const Place& where)
{
    const std::string text = where.text();
    const bool isPath = text == where.file();
    return toText(isPath ? text : percentDecode(text).value_or(text));
}

QString factText(const Finding& finding, const std::string& fact)
{
    const auto part
        = std::ranges::find_if(finding.parts, [&](const Place& each) { return each.text() == fact; });
    return part == finding.parts.end() ? factText(fact) : placeText(*part);
}

std::vector<FindingWay> waysTo(const Checkpoint& checkpoint, const Place& where)
{
    std::vector<FindingWay> ways;
    const auto found = selectionOf(checkpoint, where);
    if (!found)
        return ways;
    const SelectedThing& thing = *found;
    const auto add = [&](const QString& label, PageId page) { ways.push_back({label, thing, page}); };
    if (thing.unit != kNoUnit || thing.rank)
        add(u"partition map"_s, PageId::Map);
    if (thing.param != kNoParam) {
        add(u"parameters"_s, PageId::Parameters);
        add(u"values"_s, PageId::Tensor);
    }
    if (thing.file != kNoFile)
        add(u"files"_s, PageId::Files);
    return ways;
}

} // namespace shardscope::ui
