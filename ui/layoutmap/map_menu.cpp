// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_menu.h"

#include "core/layout/address.h"
#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QList<MapCopy> mapCopies(const MapSource& source, MapSource::Point point)
{
    QList<MapCopy> copies;
    const Checkpoint& checkpoint = source.checkpoint();
    const MapCell cell = source.cellAt(point.row, point.element);
    const auto place = source.placeOf(point.row, cell.begin);
    if (const FileRows* files = source.files()) {
        const CheckpointFile& file = files->file(point.row);
        copies.append({u"Copy &Name"_s, toText(file.name)});
        if (cell.kind == CellKind::Param || cell.kind == CellKind::PaddingStored)
            copies.append(
                {u"Copy File and &Byte"_s, toText(formatAddress(FileAddress{file.name, {}, point.element}))});
        return copies;
    }
    const FlatUnit& unit = source.unitAt(cell.begin);
    const UnitState& state = source.stateAt(cell.begin);
    if (cell.param != kNoParam) {
        const Parameter& param = checkpoint.params[index(cell.param)];
        copies.append({u"Copy &Name"_s, toText(param.name)});
        copies.append({u"Copy &Shape"_s, QString::fromStdString(shapeText(param.shape))});
        if (!checkpoint.transposedOrder(cell.param)) { // else the cell is not a range of elements
            const std::pair range{cell.paramOffset, cell.paramOffset + (cell.end - cell.begin)};
            copies.append({u"Copy &Address of Parameter"_s,
                toText(formatAddress(ParamAddress{param.name, state.name, range}))});
        }
    }
    if (unit.isFlat()) {
        copies.append({u"Copy Address on &Rank"_s,
            toText(formatAddress(flatAddressOf(checkpoint, unit, place.rank, place.offset, state.name)))});
    }
    if (cell.kind == CellKind::Param || cell.kind == CellKind::PaddingStored) {
        const auto [run, offset] = source.storedAt(cell, place);
        if (run.isPresent() && run.record != StoredRun::kNoRecord) {
            copies.append({u"Copy File and &Byte"_s,
                toText(formatAddress(FileAddress{
                    checkpoint.file(run.file).name, {}, run.byteOffset + offset * itemSize(state.dtype)}))});
        }
    }
    return copies;
}

} // namespace shardscope::ui
