// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/path_field.h"

#include "ui/widgets/focus_order.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void askForPath(
    QWidget* parent, const PathQuestion& question, const std::function<void(const QString&)>& then)
{
    using Kind = PathQuestion::Kind;
    auto* dialog = new QFileDialog(parent, question.title, question.start, question.filters);
    dialog->setObjectName(question.name);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (question.kind == Kind::NewFile) {
        dialog->setAcceptMode(QFileDialog::AcceptSave);
        dialog->setDefaultSuffix(question.suggested.section(u'.', -1));
        QObject::connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
            dialog->setDefaultSuffix(filter.section(u"*."_s, 1).chopped(1)); // "PNG picture (*.png)"
        });
        dialog->selectFile(question.suggested);
    } else {
        dialog->setFileMode(question.kind == Kind::File ? QFileDialog::ExistingFile : QFileDialog::Directory);
        dialog->setOption(QFileDialog::ShowDirsOnly, question.kind == Kind::TargetFolder);
    }
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, then);
    dialog->open();
}

PathField::PathField(PathQuestion question, QWidget* parent)
    : QWidget(parent)
    , m_question(std::move(question))
    , m_line(new QLineEdit(this))
    , m_button(new QPushButton(tr("Browse…"), this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    row->addWidget(m_line, 1);
    row->addWidget(m_button);
    handFocusTo(this, m_line);
    connect(m_line, &QLineEdit::textEdited, this, &PathField::edited);
    connect(m_button, &QPushButton::clicked, this, [this] {
        askForPath(this, m_question, [this](const QString& path) {
            Q_EMIT edited();
            m_line->setText(path);
        });
    });
}

QString PathField::path() const
{
    return m_line->text().trimmed();
}

} // namespace shardscope::ui
