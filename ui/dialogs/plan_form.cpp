// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/plan_form.h"

#include "core/far/far_path.h"
#include "ui/text/text.h"
#include "ui/widgets/path_field.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QLineEdit* makeField(const QString& name, const QString& hint, const QString& tip, QWidget* parent)
{
    auto* field = new QLineEdit(parent);
    field->setObjectName(name);
    field->setPlaceholderText(hint);
    field->setToolTip(tip);
    field->setAccessibleDescription(tip);
    return field;
}

void setCompact(QComboBox* list)
{
    constexpr int kLeastLetters = 16;
    list->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    list->setMinimumContentsLength(kLeastLetters);
}

PathField* makePatternsField(const QString& prefix, QWidget* parent)
{
    auto* field = new PathField({.kind = PathQuestion::Kind::File,
                                    .name = prefix % u"PatternsDialog"_s,
                                    .title = PlanForm::tr("File of Patterns"),
                                    .filters = PlanForm::tr("JSON (*.json);;All files (*)")},
        parent);
    field->line()->setObjectName(prefix % u"Patterns"_s);
    field->line()->setPlaceholderText(PlanForm::tr("as the checkpoint records"));
    return field;
}

PlanForm::PlanForm(QString prefix, CheckpointPtr source, const QString& lastTarget, QWidget* parent)
    : QWidget(parent)
    , m_source(std::move(source))
    , m_rows(new QFormLayout(this))
    , m_prefix(std::move(prefix))
{
    setObjectName(m_prefix % u"Form"_s);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setVerticalSpacing(9);
    m_rows->setHorizontalSpacing(12);
    m_rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const io::Path& run = m_source->runFolder;
    const io::Path name = run.filename().empty() ? io::Path("checkpoint") : run.filename();
    const QString beside = QString::fromStdString(proposedBeside(run).parent_path().native());
    m_suggestion
        = (lastTarget.isEmpty() ? beside : lastTarget) % u'/' % QString::fromStdString(name.native());
}

QLineEdit* PlanForm::addTarget(const QString& label)
{
    m_target = new PathField({.kind = PathQuestion::Kind::TargetFolder,
                                 .name = m_prefix % u"FolderDialog"_s,
                                 .title = tr("Target Folder"),
                                 .start = m_suggestion.section(u'/', 0, -2)},
        this);
    QLineEdit* line = m_target->line();
    line->setObjectName(m_prefix % u"Target"_s);
    line->setAccessibleName(tr("Target folder"));
    m_target->button()->setObjectName(m_prefix % u"Browse"_s);
    m_rows->addRow(label, m_target);
    connect(m_target, &PathField::edited, this, [this] { m_targetIsOurs = false; });
    connect(line, &QLineEdit::textChanged, this, &PlanForm::changed);
    return line;
}

QCheckBox* PlanForm::addSwitch(const QString& name, const QString& text, bool on)
{
    auto* box = new QCheckBox(text, this);
    box->setObjectName(m_prefix % name);
    box->setChecked(on);
    m_rows->addRow(QString(), box);
    connect(box, &QCheckBox::toggled, this, &PlanForm::changed);
    return box;
}

void PlanForm::addVerify()
{
    m_verify = addSwitch(u"Verify"_s, tr("Re-read and compare what was written"), true);
}

void PlanForm::addForce()
{
    m_force = addSwitch(u"Force"_s, tr("Replace an existing target"), false);
}

void PlanForm::setTarget(const QString& folder)
{
    m_targetIsOurs = false;
    m_target->line()->setText(folder);
}

void PlanForm::suggestTarget(const QString& ending)
{
    if (m_targetIsOurs)
        m_target->line()->setText(m_suggestion % ending);
}

void PlanForm::readInto(PlanWish& wish) const
{
    wish.target = far::typedPath(m_target->path().toStdString());
    wish.verify = m_verify->isChecked();
    wish.force = m_force->isChecked();
}

} // namespace shardscope::ui
