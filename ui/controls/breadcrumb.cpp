// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/breadcrumb.h"

#include "core/far/far_path.h"
#include "ui/session/runs/tag_rows.h"
#include "ui/style/icons.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QMenu>
#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <QToolButton>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Shortens its text in the middle, to `least` letters where there is no room, and to a fixed number anyway.
class NameButton final : public QToolButton
{
public:
    NameButton(int least, QWidget* parent)
        : QToolButton(parent)
        , m_least(least)
    {
        setAutoRaise(true);
        setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    }

    [[nodiscard]] QSize sizeHint() const override { return sizeFor(kMost); }
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeFor(m_least); }

protected:
    void paintEvent(QPaintEvent* /*event*/) override
    {
        QStylePainter painter(this);
        QStyleOptionToolButton option;
        initStyleOption(&option);
        if (const int lacking = QToolButton::sizeHint().width() - width(); lacking > 0)
            option.text = fontMetrics().elidedText(
                text(), Qt::ElideMiddle, fontMetrics().horizontalAdvance(text()) - lacking);
        option.text.replace(u'&', u"&&"_s); // it marks no key in a name
        painter.drawComplexControl(QStyle::CC_ToolButton, option);
    }

private:
    static constexpr int kMost = 40;

    [[nodiscard]] QSize sizeFor(int letters) const
    {
        const int room = fontMetrics().averageCharWidth() * letters;
        QSize out = QToolButton::sizeHint();
        out.rwidth() -= std::max(0, fontMetrics().horizontalAdvance(text()) - room);
        return out;
    }

    int m_least;
};

} // namespace

Breadcrumb::Breadcrumb(Theme& theme, Selection& selection, TagStore& tags, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_tags(tags)
    , m_folder(new NameButton(12, this))
    , m_tag(new NameButton(20, this))
    , m_thing(new ElidedLabel(this))
{
    setObjectName(u"breadcrumb"_s);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_folder->setObjectName(u"breadcrumbFolder"_s);
    m_folder->setIcon(themedIcon(theme, u"folder"_s, ThemeRole::MutedText));
    m_tag->setObjectName(u"breadcrumbTag"_s);
    m_tag->setIcon(themedIcon(theme, u"tag"_s, ThemeRole::MutedText));
    m_tag->setPopupMode(QToolButton::InstantPopup);
    m_tag->setMenu(new QMenu(m_tag));
    m_thing->setObjectName(u"breadcrumbThing"_s);
    m_thing->setForegroundRole(QPalette::PlaceholderText);
    m_thing->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(4, 0, 8, 0);
    row->setSpacing(2);
    row->addWidget(m_folder);
    row->addWidget(m_tag);
    row->addWidget(m_thing, 1);
    connect(m_folder, &QToolButton::clicked, this, [this] {
        if (m_checkpoint)
            QApplication::clipboard()->setText(QString::fromStdString(m_checkpoint->tagFolder.native()));
    });
    connect(m_tag->menu(), &QMenu::triggered, this,
        [this](const QAction* action) { Q_EMIT tagRequested(action->data().toByteArray()); });
    connect(m_tag->menu(), &QMenu::aboutToShow, this, [this, &tags] {
        tags.want();
        describeTags();
    });
    connect(&tags, &TagStore::changed, this, [this] {
        if (m_tag->menu()->isVisible())
            describeTags();
    });
    connect(&selection, &Selection::changed, this, &Breadcrumb::follow);
    setCheckpoint(nullptr);
}

QSize Breadcrumb::sizeHint() const
{
    // A tool bar gives all widgets what they hint at before it stretches one, or hides the last.
    return {minimumSizeHint().width(), QWidget::sizeHint().height()};
}

void Breadcrumb::setCheckpoint(const CheckpointPtr& checkpoint)
{
    m_checkpoint = checkpoint;
    m_folder->setVisible(checkpoint != nullptr);
    m_tag->setVisible(checkpoint && !checkpoint->tag.empty());
    m_tag->menu()->clear();
    m_thing->setText({});
    if (!checkpoint)
        return;
    const io::Path& run = checkpoint->runFolder.empty() ? checkpoint->tagFolder : checkpoint->runFolder;
    const auto far = far::farPathOf(run);
    const io::Path name = run.filename().empty() ? run.parent_path().filename() : run.filename();
    m_folder->setText(pathText(far ? far::farPath(far->host, name) : name));
    m_folder->setToolTip(tr("%1\nClick to copy the path").arg(pathText(checkpoint->tagFolder)));
    m_folder->setAccessibleName(tr("Copy the path %1").arg(pathText(checkpoint->tagFolder)));
    m_tag->setText(toText(checkpoint->tag));
    m_tag->setToolTip(tr("Other tags of this run"));
    for (auto tag = checkpoint->tags.rbegin(); tag != checkpoint->tags.rend(); ++tag) {
        const bool latest = checkpoint->latest && *checkpoint->latest == *tag;
        QAction* action = m_tag->menu()->addAction(QString());
        action->setProperty("tagName",
            (latest ? tr("%1 (latest)").arg(toText(*tag)) : toText(*tag)).replace(u'&', u"&&"_s)); // no key
        action->setData(QByteArray::fromStdString(*tag));
        action->setCheckable(true);
        action->setChecked(*tag == checkpoint->tag);
        action->setText(action->property("tagName").toString()); // more when the menu opens
    }
}

void Breadcrumb::describeTags()
{
    for (QAction* action : m_tag->menu()->actions()) {
        // The open one of numbered checkpoints has a tag inside.
        const TagSummary* tag = m_tags.read(
            action->isChecked() ? m_tags.openTag() : action->data().toByteArray().toStdString());
        const QString name = action->property("tagName").toString();
        action->setText(tag == nullptr ? name : QString(name % u'\t' % tagMenuText(*tag)));
    }
}

void Breadcrumb::follow(const SelectedThing& thing)
{
    QString text;
    if (m_checkpoint) {
        if (thing.param != kNoParam)
            text = toText(m_checkpoint->params[index(thing.param)].name);
        else if (thing.isPadding && thing.rank)
            text = tr("padding of %1").arg(rankLabel(*m_checkpoint, rankAt(*m_checkpoint, *thing.rank)));
        else if (thing.file != kNoFile)
            text = toText(m_checkpoint->file(thing.file).name);
        else if (thing.rank)
            text = rankLabel(*m_checkpoint, rankAt(*m_checkpoint, *thing.rank));
        else if (thing.unit != kNoUnit)
            text = heldUnitText(*m_checkpoint, m_checkpoint->units[index(thing.unit)]);
    }
    m_thing->setText(text.isEmpty() ? QString() : u"›  "_s % text);
}

} // namespace shardscope::ui
