// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/window_fit.h"

#include <QEvent>
#include <QLayout>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>

namespace shardscope::ui {

namespace {

constexpr QSize kFrame(16, 48); // title bar and borders, which are not known before a window is shown

/// Asks for the room that its content needs, up to a limit.
class FittingArea final : public QScrollArea
{
public:
    FittingArea(QSize most, QWidget* parent)
        : QScrollArea(parent)
        , m_most(most)
    {
    }

    [[nodiscard]] QSize minimumSizeHint() const override
    {
        const QWidget* content = widget(); // none yet while it is taken from its former parent
        if (m_most.isEmpty() || content == nullptr)
            return QScrollArea::minimumSizeHint();
        // With the bar that scrolls up and down, which must not make the other one appear.
        const QSize bar(verticalScrollBar()->sizeHint().width(), 0);
        return (content->minimumSizeHint() + bar).boundedTo(m_most);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::LayoutRequest && watched == widget())
            updateGeometry();
        return QScrollArea::eventFilter(watched, event);
    }

private:
    QSize m_most;
};

} // namespace

QWidget* scrolled(QWidget* content, QWidget* parent, QSize most)
{
    auto* area = new FittingArea(most, parent);
    area->setObjectName(content->objectName() + QStringLiteral("Scroll"));
    area->setWidget(content);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus); // the widgets inside have it
    area->viewport()->setAutoFillBackground(false);
    content->setAutoFillBackground(false);
    return area;
}

QSize withWrappedLines(const QWidget& page)
{
    const QLayout& layout = *page.layout();
    return layout.totalMinimumSize().expandedTo({0, layout.totalMinimumHeightForWidth(page.width())});
}

void resizeWithinScreen(QWidget* window, QSize wanted)
{
    const QSize room = window->screen()->availableSize() - kFrame;
    window->resize(wanted.boundedTo(room));
}

} // namespace shardscope::ui
