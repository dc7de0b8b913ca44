// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/command_line.h"

#include "ui/style/icons.h"
#include "ui/widgets/focus_order.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QToolButton>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

CommandLine::CommandLine(
    Theme& theme, const QString& name, QWidget* parent, const QString& what, const QString& copies)
    : QWidget(parent)
    , m_line(new QLineEdit(this))
{
    m_line->setObjectName(name);
    m_line->setReadOnly(true);
    m_line->setAccessibleName(what.isEmpty() ? tr("Equivalent command line") : what);
    auto* copy = new QToolButton(this);
    copy->setObjectName(name % u"Copy"_s);
    copy->setIcon(themedIcon(theme, u"copy"_s));
    copy->setToolTip(copies.isEmpty() ? tr("Copy the command line") : copies);
    copy->setAccessibleName(copy->toolTip());
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    row->addWidget(m_line, 1);
    row->addWidget(copy);
    handFocusTo(this, m_line);
    connect(copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
}

void CommandLine::setCommand(const QString& command)
{
    m_line->setText(command);
    m_line->setCursorPosition(0);
}

QString CommandLine::command() const
{
    return m_line->text();
}

} // namespace shardscope::ui
