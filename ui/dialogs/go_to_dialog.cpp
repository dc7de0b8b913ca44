// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/go_to_dialog.h"

#include "ui/models/address_selection.h"
#include "ui/text/text.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

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
    auto* what = new QLabel(
        tr("A parameter, an element, a place in a rank's flat buffer, or a byte of a file; also “rank 3”, "
           "“layer 19”, “name[5, 7]” or a file:"),
        this);
    what->setWordWrap(true);
    rows->addWidget(what);
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
