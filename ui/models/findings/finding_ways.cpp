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

std::vector<FindingWay> waysTo(const Checkpoint& checkpoint, const std::string& where)
{
    std::vector<FindingWay> ways;
    if (where.empty())
        return ways;
    const auto add = [&ways](const QString& label, const SelectedThing& thing, const QString& page) {
        ways.push_back({label, thing, page});
    };
    for (size_t i = 0; i < checkpoint.files.size(); ++i) {
        const CheckpointFile& file = checkpoint.files[i];
        if (file.name != where && file.path.native() != where)
            continue;
        SelectedThing thing;
        thing.file = FileId{static_cast<uint32_t>(i)};
        add(Words::tr("files"), thing, u"filesPage"_s);
        return ways;
    }
    SelectedThing thing;
    if (const auto found = selectionOf(checkpoint, QString::fromStdString(where)))
        thing = *found;
    else if (const auto param = checkpoint.findParam(where))
        thing.param = *param; // a parameter without elements has no address
    if (thing.unit != kNoUnit || thing.rank)
        add(Words::tr("partition map"), thing, u"mapPage"_s);
    if (thing.param != kNoParam) {
        add(Words::tr("parameters"), thing, u"parametersPage"_s);
        add(Words::tr("values"), thing, u"tensorPage"_s);
    }
    if (thing.file != kNoFile)
        add(Words::tr("files"), thing, u"filesPage"_s);
    return ways;
}

} // namespace shardscope::ui
