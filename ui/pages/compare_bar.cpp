// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/compare_bar.h"

#include "core/far/far_path.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/flow_layout.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>

#include <set>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMaxListed = 12;

/// Empty if the text is not a number of at least 0.
std::optional<double> toleranceOf(const QLineEdit& field)
{
    const QString text = field.text().trimmed();
    if (text.isEmpty())
        return 0.0;
    bool isNumber = false;
    const double value = text.toDouble(&isNumber);
    return isNumber && value >= 0 ? std::optional(value) : std::nullopt;
}

} // namespace

CompareBar::CompareBar(Theme& theme, const Settings& settings, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_settings(settings)
    , m_other(new QLineEdit(this))
    , m_choices(new QMenu(this))
    , m_states(new QMenu(this))
    , m_start(new QPushButton(this))
{
    m_other->setObjectName(u"compareOther"_s);
    m_other->setAccessibleName(tr("The other checkpoint"));
    m_other->setPlaceholderText(tr("Run, tag or universal folder to compare with"));
    m_other->setClearButtonEnabled(true);
    auto* choose = new QToolButton(this);
    choose->setObjectName(u"compareChoose"_s);
    choose->setText(tr("C&hoose"));
    choose->setToolTip(tr("Another tag of this run, a recent checkpoint, or a folder"));
    choose->setPopupMode(QToolButton::InstantPopup);
    choose->setMenu(m_choices);
    m_choices->setObjectName(u"compareChoices"_s);
    m_start->setObjectName(u"compareStart"_s);
    m_start->setAutoDefault(true);
    auto* label = new QLabel(tr("Compare &with"), this);
    label->setBuddy(m_other);
    auto* path = new QHBoxLayout;
    path->setSpacing(6);
    path->addWidget(label);
    path->addWidget(m_other, 1);
    path->addWidget(choose);
    path->addWidget(m_start);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(12, 10, 12, 6);
    rows->setSpacing(6);
    rows->addLayout(path);
    rows->addWidget(makeOptions());
    handFocusTo(this, m_other);
    connect(m_other, &QLineEdit::returnPressed, m_start, &QPushButton::click);
    connect(m_other, &QLineEdit::textChanged, this, &CompareBar::showOptions);
    connect(m_choices, &QMenu::aboutToShow, this, &CompareBar::fillChoices);
    connect(m_start, &QPushButton::clicked, this,
        [this] { m_running ? Q_EMIT cancelRequested() : Q_EMIT compareRequested(); });
    setRunning(false);
}

QWidget* CompareBar::makeOptions()
{
    auto* options = new QWidget(this);
    auto* flow = new FlowLayout(options);
    flow->setContentsMargins(0, 0, 0, 0);
    m_stateButton = new QToolButton(options);
    m_stateButton->setObjectName(u"compareStates"_s);
    m_stateButton->setPopupMode(QToolButton::InstantPopup);
    m_stateButton->setMenu(m_states);
    m_stateButton->setToolTip(tr("Which states are compared"));
    flow->addWidget(m_stateButton);
    const auto addField = [&](const QString& name, const QString& title, const QString& tip) {
        auto* pair = new QWidget(options);
        auto* line = new QHBoxLayout(pair);
        line->setContentsMargins(8, 0, 0, 0);
        auto* label = new QLabel(title, pair);
        auto* field = new QLineEdit(pair);
        field->setObjectName(name);
        field->setToolTip(tip);
        field->setAccessibleName(tip);
        field->setPlaceholderText(u"0"_s);
        field->setFixedWidth(field->fontMetrics().horizontalAdvance(u"0.000001000"_s));
        label->setBuddy(field);
        line->addWidget(label);
        line->addWidget(field);
        flow->addWidget(pair);
        connect(field, &QLineEdit::textChanged, this, &CompareBar::showOptions);
        connect(field, &QLineEdit::returnPressed, m_start, &QPushButton::click);
        return field;
    };
    m_relative = addField(u"compareRtol"_s, tr("&rtol"),
        tr("Relative tolerance: values are close up to atol + rtol × |right|"));
    m_absolute = addField(u"compareAtol"_s, tr("&atol"), tr("Absolute tolerance"));
    addPatterns(options);
    return options;
}

void CompareBar::addPatterns(QWidget* options)
{
    m_patterns = new QLineEdit(options);
    m_patterns->setObjectName(u"comparePatterns"_s);
    m_patterns->setPlaceholderText(tr("as the checkpoints record"));
    m_patterns->setAccessibleName(tr("File of patterns for merging tensor slices"));
    m_patterns->setToolTip(
        tr("How to merge tensor slices where the two sides are sliced differently: a JSON object with the "
           "keys of “universal_checkpoint_info” and lists of regular expressions"));
    m_patterns->setClearButtonEnabled(true);
    m_patterns->setMinimumWidth(m_patterns->fontMetrics().averageCharWidth() * 30);
    auto* group = new QWidget(options);
    auto* line = new QHBoxLayout(group);
    line->setContentsMargins(8, 0, 0, 0);
    auto* label = new QLabel(tr("Patter&ns"), group);
    label->setBuddy(m_patterns);
    auto* choose = new QPushButton(tr("Browse…"), group);
    choose->setObjectName(u"comparePatternsBrowse"_s);
    choose->setAccessibleName(tr("Choose the file of patterns"));
    choose->setAutoDefault(false);
    for (QWidget* part :
        {static_cast<QWidget*>(label), static_cast<QWidget*>(m_patterns), static_cast<QWidget*>(choose)})
        line->addWidget(part);
    options->layout()->addWidget(group);
    connect(m_patterns, &QLineEdit::textChanged, this, &CompareBar::showOptions);
    connect(m_patterns, &QLineEdit::returnPressed, m_start, &QPushButton::click);
    connect(choose, &QPushButton::clicked, this, [this] {
        askForPath(this,
            {.kind = PathQuestion::Kind::File,
                .name = u"comparePatternsDialog"_s,
                .title = tr("File of Patterns"),
                .filters = tr("JSON (*.json);;All files (*)")},
            [this](const QString& path) { m_patterns->setText(path); });
    });
}

void CompareBar::setCheckpoint(const CheckpointPtr& checkpoint, const std::vector<std::string>& states)
{
    m_checkpoint = checkpoint;
    fillStates(states);
    setEnabled(checkpoint != nullptr);
}

void CompareBar::fillStates(const std::vector<std::string>& states)
{
    m_states->clear();
    for (const std::string& state : states) {
        QAction* action = m_states->addAction(toText(state));
        action->setData(QByteArray::fromStdString(state));
        action->setCheckable(true);
        action->setChecked(true);
        connect(action, &QAction::toggled, this, &CompareBar::showOptions);
    }
    showOptions();
}

void CompareBar::fillChoices()
{
    m_choices->clear();
    const auto add = [this](const QString& text, const io::Path& path) {
        connect(m_choices->addAction(text), &QAction::triggered, this,
            [this, path] { setOther(QString::fromStdString(path.native())); });
    };
    if (m_checkpoint && m_checkpoint->tags.size() > 1) {
        m_choices->addSection(tr("Tags of this run"));
        int listed = 0;
        for (auto tag = m_checkpoint->tags.rbegin(); tag != m_checkpoint->tags.rend(); ++tag) {
            if (*tag != m_checkpoint->tag && listed++ < kMaxListed)
                add(toText(*tag), m_checkpoint->runFolder / *tag);
        }
    }
    m_choices->addSection(tr("Open before"));
    std::set<io::Path> listed; // one may have been opened in several ways
    for (const RecentEntry& entry : m_settings.recent()) {
        const io::Path path
            = entry.tag.isEmpty() ? toPath(entry.path) : toPath(entry.path) / toPath(entry.tag);
        if (listed.size() < kMaxListed && listed.insert(path).second)
            add(pathText(path), path);
    }
    m_choices->addSeparator();
    connect(m_choices->addAction(themedIcon(m_theme, u"folder"_s), tr("Folder…")), &QAction::triggered, this,
        [this] {
            askForPath(this, {.name = u"compareFolderDialog"_s, .title = tr("Compare with a Checkpoint")},
                [this](const QString& path) { setOther(path); });
        });
}

void CompareBar::setOther(const QString& path)
{
    m_other->setText(path);
    m_other->setCursorPosition(0);
    m_start->setFocus(Qt::OtherFocusReason);
}

QString CompareBar::other() const
{
    return m_other->text().trimmed();
}

void CompareBar::setRunning(bool running)
{
    m_running = running;
    m_start->setText(running ? tr("Cancel") : tr("&Compare"));
    showOptions();
}

void CompareBar::showOptions()
{
    QStringList chosen;
    for (const QAction* action : m_states->actions()) {
        if (action->isChecked())
            chosen.append(action->text());
    }
    const bool all = chosen.size() == m_states->actions().size();
    m_stateButton->setText(all  ? tr("States: all")
            : chosen.size() > 2 ? tr("States: %1 of %2").arg(chosen.size()).arg(m_states->actions().size())
                                : tr("States: %1").arg(chosen.join(u", "_s)));
    m_start->setEnabled(m_running || (!other().isEmpty() && m_checkpoint));
    Q_EMIT edited();
}

QString CompareBar::problem() const
{
    if (!toleranceOf(*m_relative) || !toleranceOf(*m_absolute))
        return tr("A tolerance is 0 or a positive number, such as 1e-5.");
    bool any = m_states->actions().isEmpty();
    for (const QAction* action : m_states->actions())
        any = any || action->isChecked();
    return any ? QString() : tr("No state is chosen.");
}

std::optional<CompareWish> CompareBar::wish() const
{
    if (!problem().isEmpty())
        return {};
    CompareWish wish;
    const auto absolute = [](const QString& text) {
        const io::Path path = far::typedPath(text.toStdString());
        return path.empty() || far::isElsewhere(path) ? path : toPath(QFileInfo(text).absoluteFilePath());
    };
    wish.other = absolute(other());
    wish.patternsFile = absolute(m_patterns->text().trimmed());
    wish.options.tolerance = {*toleranceOf(*m_relative), *toleranceOf(*m_absolute)};
    bool all = true;
    for (const QAction* action : m_states->actions()) {
        if (action->isChecked())
            wish.options.states.push_back(action->data().toByteArray().toStdString());
        else
            all = false;
    }
    if (all)
        wish.options.states.clear();
    return wish;
}

} // namespace shardscope::ui
