// SPDX-License-Identifier: Apache-2.0
#include "ui/models/findings/finding_ways.h"

#include "ui/models/address_selection.h"

#include <QCoreApplication>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::FindingWay)
};

} // namespace

std::vector<FindingWay> waysTo(const Checkpoint& checkpoint, const Place& where)
{
    std::vector<FindingWay> ways;
    const auto found = selectionOf(checkpoint, where);
    if (!found)
        return ways;
    const SelectedThing& thing = *found;
    const auto add = [&](const QString& label, const QString& page) { ways.push_back({label, thing, page}); };
    if (thing.unit != kNoUnit || thing.rank)
        add(Words::tr("partition map"), u"mapPage"_s);
    if (thing.param != kNoParam) {
        add(Words::tr("parameters"), u"parametersPage"_s);
        add(Words::tr("values"), u"tensorPage"_s);
    }
    if (thing.file != kNoFile)
        add(Words::tr("files"), u"filesPage"_s);
    return ways;
}

} // namespace shardscope::ui
