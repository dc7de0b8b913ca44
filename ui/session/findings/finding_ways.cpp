// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_ways.h"

#include "ui/models/address_selection.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

std::vector<FindingWay> waysTo(const Checkpoint& checkpoint, const Place& where)
{
    std::vector<FindingWay> ways;
    const auto found = selectionOf(checkpoint, where);
    if (!found)
        return ways;
    const SelectedThing& thing = *found;
    const auto add = [&](const QString& label, const QString& page) { ways.push_back({label, thing, page}); };
    if (thing.unit != kNoUnit || thing.rank)
        add(u"partition map"_s, u"mapPage"_s);
    if (thing.param != kNoParam) {
        add(u"parameters"_s, u"parametersPage"_s);
        add(u"values"_s, u"tensorPage"_s);
    }
    if (thing.file != kNoFile)
        add(u"files"_s, u"filesPage"_s);
    return ways;
}

} // namespace shardscope::ui
