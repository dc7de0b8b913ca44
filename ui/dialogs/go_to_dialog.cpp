// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/go_to_dialog.h"

#include "core/layout/address.h"
#include "ui/models/rank_list.h"
#include "ui/models/text.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

UnitId unitOf(const Checkpoint& checkpoint, const FlatAddress& address)
{
    for (size_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        if (!unit.isFlat())
            continue;
        const bool same = address.subgroup ? unit.subgroup == address.group
                                           : unit.group == static_cast<int32_t>(address.group);
        if (same)
            return UnitId{static_cast<uint32_t>(i)};
    }
    return kNoUnit;
}

} // namespace

Result<SelectedThing> selectionOf(const Checkpoint& checkpoint, const QString& address)
{
    SHARDSCOPE_TRY(const Address parsed, parseAddress(address.trimmed().toStdString(), checkpoint));
    SHARDSCOPE_TRY(const Location location, locate(checkpoint, parsed));
    SelectedThing thing;
    if (location.param) {
        thing.param = checkpoint.findParam(location.param->name).value_or(kNoParam);
        thing.state = location.param->state;
    }
    if (location.flat) {
        thing.rank = rankNumber(checkpoint, location.flat->rank);
        thing.unit = unitOf(checkpoint, *location.flat);
        const auto row = thing.unit == kNoUnit
            ? std::nullopt
            : rowOfRank(checkpoint, checkpoint.units[index(thing.unit)], *thing.rank);
        if (row)
            thing.block = FlatBlock{*row, *row + 1, location.flat->element, location.flat->element + 1};
        if (thing.state.empty())
            thing.state = location.flat->state;
    }
    if (location.file) {
        for (size_t i = 0; i < checkpoint.files.size(); ++i)
            if (checkpoint.files[i].name == location.file->path)
                thing.file = FileId{static_cast<uint32_t>(i)};
        if (thing.file != kNoFile) {
            thing.byte = location.fileByte;
            if (const auto& content = checkpoint.file(thing.file).content)
                thing.record = content->zip().find(location.file->record);
        }
    }
    return thing;
}

GoToDialog::GoToDialog(CheckpointPtr checkpoint, Selection& selection, QWidget* parent)
    : QDialog(parent)
    , m_checkpoint(std::move(checkpoint))
    , m_selection(selection)
    , m_address(new QLineEdit(this))
    , m_answer(new QLabel(this))
{
    setObjectName(u"goToDialog"_s);
    setWindowTitle(tr("Go To"));
    setMinimumWidth(560);
    m_address->setObjectName(u"goToAddress"_s);
    m_address->setAccessibleName(tr("Address"));
    m_address->setPlaceholderText(
        tr("layers.0.weight#exp_avg[120:128]   dp3.tp0.pp0/group1+4096   FILE!data/7+512"));
    m_answer->setObjectName(u"goToAnswer"_s);
    m_answer->setTextFormat(Qt::PlainText);
    m_answer->setWordWrap(true);
    m_answer->setMinimumHeight(m_answer->fontMetrics().height() * 3);
    m_answer->setAlignment(Qt::AlignTop);
    m_answer->setForegroundRole(QPalette::PlaceholderText);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_go = buttons->addButton(tr("Go"), QDialogButtonBox::AcceptRole);
    m_go->setObjectName(u"goToGo"_s);
    auto* rows = new QVBoxLayout(this);
    rows->addWidget(new QLabel(
        tr("A parameter, an element, a place in a rank's flat buffer, or a byte of a file:"), this));
    rows->addWidget(m_address);
    rows->addWidget(m_answer);
    rows->addWidget(buttons);
    connect(m_address, &QLineEdit::textChanged, this, &GoToDialog::check);
    connect(buttons, &QDialogButtonBox::accepted, this, &GoToDialog::go);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    check();
}

void GoToDialog::setCheckpoint(const CheckpointPtr& checkpoint)
{
    if (!checkpoint)
        return reject();
    m_checkpoint = checkpoint;
    check();
}

void GoToDialog::check()
{
    m_go->setEnabled(false);
    if (m_address->text().trimmed().isEmpty()) {
        m_answer->clear();
        return;
    }
    const auto thing = selectionOf(*m_checkpoint, m_address->text());
    m_go->setEnabled(thing.has_value());
    m_answer->setText(thing ? tr("Found.") : errorText(thing.error()));
}

void GoToDialog::go()
{
    auto thing = selectionOf(*m_checkpoint, m_address->text());
    if (!thing)
        return;
    m_selection.select(std::move(*thing));
    accept();
}

} // namespace shardscope::ui
