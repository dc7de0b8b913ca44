// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_legend.h"

#include "core/layout/fragments.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_cell_shapes.h"
#include "ui/text/text.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <iterator>

namespace shardscope::ui {

namespace {

constexpr int kSwatch = 14;
constexpr int kGap = 16;
constexpr int kMargin = 8;

bool isDimmed(const MapStyle& style, ParamClass paramClass)
{
    return (style.dimmedClasses >> static_cast<unsigned>(paramClass) & 1u) != 0;
}

/// Every `step` pixels.
void paintDots(QPainter& painter, const QRect& box, const QColor& colour, int step)
{
    for (int y = 2; y < kSwatch; y += step) {
        for (int x = 2; x < kSwatch; x += step) {
            painter.fillRect(box.left() + x, box.top() + y, 1, 1, colour);
        }
    }
}

void paintLevels(QPainter& painter, const QRect& box, const QColor& colour)
{
    painter.setPen(colour);
    for (int y = 2; y < kSwatch; y += 4) {
        painter.drawLine(box.left(), box.top() + y, box.right(), box.top() + y);
    }
}

void paintDoubleEdge(QPainter& painter, const QRect& box, const QColor& colour)
{
    for (const int x : {0, 2}) {
        painter.fillRect(box.left() + x, box.top(), 1, kSwatch, colour);
    }
}

void paintZigZag(QPainter& painter, const QRect& box, const QColor& colour)
{
    QPolygonF line;
    for (int x = 0, i = 0; x <= kSwatch; x += 3, ++i) {
        line << QPointF(box.left() + x, box.center().y() + (i % 2 == 0 ? 2 : -2));
    }
    painter.setPen(colour);
    painter.drawPolyline(line);
}

QString classText(ParamClass paramClass)
{
    const auto name = paramClassName(paramClass);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

} // namespace

MapLegend::MapLegend(QWidget* parent)
    : QWidget(parent)
    , m_palette(std::make_shared<MapPalette>())
{
    setObjectName(QStringLiteral("mapLegend"));
    setAccessibleName(tr("Legend"));
    setFocusPolicy(Qt::TabFocus);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void MapLegend::setStack(MapStackPtr stack, MapStackPtr beside)
{
    m_stack = std::move(stack);
    m_beside = std::move(beside);
    rebuild();
}

void MapLegend::setMapPalette(std::shared_ptr<const MapPalette> palette)
{
    m_palette = std::move(palette);
    rebuild();
}

void MapLegend::setMapStyle(MapStyle style)
{
    m_style = std::move(style);
    rebuild();
}

void MapLegend::rebuild()
{
    m_items.clear();
    m_current = 0;
    if (m_stack && m_stack->files()) {
        addFiles();
    } else if (m_stack) {
        addClasses();
        addStates();
    }
    QStringList texts;
    for (const Item& item : m_items) {
        texts << item.text;
    }
    setAccessibleDescription(texts.join(QStringLiteral(", ")));
    updateGeometry();
    update();
}

void MapLegend::addFiles()
{
    const FileRows& files = *m_stack->files();
    for (uint32_t state = 0; state < files.states().size(); ++state) {
        // In the order of MapRowSampler.
        static constexpr Pattern kPatterns[]
            = {Pattern::Plain, Pattern::Dots, Pattern::Stripes, Pattern::Lines};
        m_items.push_back({kPatterns[state % std::size(kPatterns)], m_palette->hues[FileRows::hueOf(state)],
            toText(files.states()[state]), {}});
    }
    m_items.push_back({Pattern::Hatch, m_palette->padding, MapText::noState(), {}});
    m_items.push_back({Pattern::Cross, m_palette->missing, tr("missing (○)"), {}}); // RankGutter's mark
    if (m_stack->worstSeverity() >= 2) {
        m_items.push_back({Pattern::Outline, m_palette->error, tr("error (▲)"), {}});
    }
}

void MapLegend::addClasses()
{
    switch (m_style.mode) {
    case MapColourMode::Kind: {
        uint32_t present = 0;
        for (uint32_t section = 0; section < m_stack->count(); ++section) {
            present |= m_stack->content(section).classes;
        }
        for (unsigned i = 0; i < 8; ++i) {
            if ((present >> i & 1u) != 0) {
                const auto paramClass = static_cast<ParamClass>(i);
                m_items.push_back({Pattern::Plain, m_palette->classes[i], classText(paramClass), paramClass});
            }
        }
        break;
    }
    case MapColourMode::Parameter:
        m_items.push_back({Pattern::Ramp, 0, tr("hue by parameter name"), {}});
        break;
    case MapColourMode::Rank:
        m_items.push_back({Pattern::Ramp, 0, tr("one hue per rank"), {}});
        break;
    case MapColourMode::Layer:
        m_items.push_back({Pattern::Ramp, 0, tr("layer 0 to %1").arg(m_stack->highestLayer()), {}});
        m_items.push_back({Pattern::Plain, m_palette->padding, tr("outside the layers"), {}});
        break;
    case MapColourMode::Difference:
        addDifferences();
        break;
    }
}

void MapLegend::addDifferences()
{
    if (!m_style.differences) {
        return;
    }
    const DifferenceMarks& marks = *m_style.differences;
    const uint32_t left = marks.isRight ? marks.otherPresent : marks.present;
    const uint32_t right = marks.isRight ? marks.present : marks.otherPresent;
    const auto add = [&](DifferenceMark mark, uint32_t present, Pattern pattern, const QString& text,
                         bool isRight = false) {
        if ((present >> static_cast<unsigned>(mark) & 1u) != 0) {
            m_items.push_back({pattern, differenceColour(*m_palette, mark, isRight), text, {}});
        }
    };
    add(DifferenceMark::Equal, left | right, Pattern::Plain, tr("equal"));
    add(DifferenceMark::LastBit, left | right, Pattern::Dots, tr("last bit"));
    add(DifferenceMark::Values, left | right, Pattern::Stripes, tr("values differ"));
    add(DifferenceMark::OtherState, left | right, Pattern::Stripes, tr("another state differs"));
    add(DifferenceMark::OneSide, left, Pattern::Lines, tr("only left, or another shape"));
    add(DifferenceMark::OneSide, right, Pattern::Lines, tr("only right, or another shape"), true);
    add(DifferenceMark::NotCompared, left | right, Pattern::SparseDots, tr("not compared"));
}

template <class Test>
bool MapLegend::anyUnit(Test test) const
{
    return anySection([&](const MapStack& stack, uint32_t section) {
        const auto& parts = stack.source(section).parts();
        return std::any_of(parts.begin(), parts.end(), test);
    });
}

template <class Test>
bool MapLegend::anySection(Test test) const
{
    for (const MapStackPtr& stack : {m_stack, m_beside}) {
        for (uint32_t section = 0; stack && !stack->files() && section < stack->count(); ++section) {
            if (test(*stack, section)) {
                return true;
            }
        }
    }
    return false;
}

void MapLegend::addPadding()
{
    bool stored = false;
    bool implied = false;
    anyUnit([&](const MapQuery& part) {
        const UnitState& state = part.flat().states[part.stateIndex()];
        // The last rank has padding if any does, where its file says how much is stored.
        bool found = false;
        for (uint32_t rank = part.flat().partition.ranks(); rank-- > 0 && !found;) {
            const auto padding = paddingOf(part.flat(), state, rank);
            stored = stored || padding.kind == PaddingKind::Stored;
            implied = implied || padding.kind == PaddingKind::Implied;
            found = padding.kind == PaddingKind::Stored || padding.kind == PaddingKind::Implied;
        }
        return stored && implied;
    });
    if (stored) {
        const bool differs = m_style.mode == MapColourMode::Difference && m_style.differences
            && m_style.differences->padding;
        m_items.push_back({Pattern::Hatch, differs ? differentPaddingColour(*m_palette) : m_palette->padding,
            differs ? tr("padding differs (never read)") : tr("padding, stored"), {}});
    }
    if (implied) {
        m_items.push_back({Pattern::Dotted, m_palette->paddingOutline, tr("padding, in no file"), {}});
    }
}

void MapLegend::addStates()
{
    addPadding();
    const MapLayout layouts[] = {MapLayout(m_stack->sizes(m_beside.get())),
        m_beside ? MapLayout(m_beside->sizes(m_stack.get())) : MapLayout()};
    if (layouts[0].anyEnlarged() || layouts[1].anyEnlarged()) {
        m_items.push_back({Pattern::Break, m_palette->mutedText, tr("enlarged by the factor shown"), {}});
    }
    const QRgb sample = m_palette->classes[static_cast<size_t>(ParamClass::Attention)];
    const bool frozen = anySection(
        [](const MapStack& stack, uint32_t section) { return stack.content(section).hasFrozen; });
    const bool shared = anySection(
        [](const MapStack& stack, uint32_t section) { return stack.content(section).hasShared; });
    if (frozen) {
        m_items.push_back({Pattern::Bar, desaturated(sample), tr("frozen"), {}});
    }
    if (shared) {
        m_items.push_back({Pattern::DoubleEdge, sample, tr("shared"), {}});
    }
    bool missing = false;
    bool unread = false;
    anyUnit([&](const MapQuery& part) {
        const uint32_t ranks = part.flat().partition.ranks();
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            missing = missing || part.kindOf(rank) == CellKind::Missing;
            unread = unread || part.kindOf(rank) == CellKind::NotYetRead;
        }
        return missing && unread;
    });
    if (missing) {
        m_items.push_back({Pattern::Cross, m_palette->missing, tr("missing (○)"), {}}); // RankGutter's mark
    }
    if (unread) {
        m_items.push_back({Pattern::NotYetRead, sample, tr("not yet read"), {}});
    }
    if (m_style.lit) {
        m_items.push_back(
            {Pattern::Plain, blended(sample, m_palette->background, 200), tr("outside the filter"), {}});
    }
    const bool besideIsWorse = m_beside && m_beside->worstSeverity() > m_stack->worstSeverity();
    const MapStack& worse = besideIsWorse ? *m_beside : *m_stack;
    const int8_t worst = worse.worstSeverity();
    if (worst >= 1) {
        m_items.push_back({Pattern::Outline, worst >= 2 ? m_palette->error : m_palette->warning,
            MapText::worst(worse) + (worst >= 2 ? tr(" (▲)") : tr(" (●)")), {}});
    }
}

std::vector<QRect> MapLegend::layoutItems(int width) const
{
    std::vector<QRect> boxes;
    const int line = std::max(fontMetrics().height(), kSwatch) + 6;
    int x = kMargin;
    int y = 3;
    for (const auto& item : m_items) {
        const int itemWidth = std::min(
            kSwatch + 6 + fontMetrics().horizontalAdvance(item.text), std::max(width - 2 * kMargin, 60));
        if (x > kMargin && x + itemWidth > width - kMargin) {
            x = kMargin;
            y += line;
        }
        boxes.emplace_back(x, y, itemWidth, line);
        x += itemWidth + kGap;
    }
    return boxes;
}

int MapLegend::heightForWidth(int width) const
{
    const auto boxes = layoutItems(width);
    return boxes.empty() ? std::max(fontMetrics().height(), kSwatch) + 12 : boxes.back().bottom() + 4;
}

QSize MapLegend::sizeHint() const
{
    return {240, heightForWidth(std::max(width(), 240))};
}

void MapLegend::paintDotted(QPainter& painter, const QRect& box, const Item& item) const
{
    const bool sparse = item.pattern == Pattern::SparseDots;
    const QRgb dots = sparse ? m_palette->mutedText : m_palette->background;
    painter.fillRect(box, QColor(item.colour));
    paintDots(painter, box, QColor(blended(item.colour, dots, 150)), sparse ? 5 : 4);
}

void MapLegend::paintSwatch(QPainter& painter, const QRect& box, const Item& item) const
{
    const QColor background(m_palette->background);
    switch (item.pattern) {
    case Pattern::Plain:
        painter.fillRect(box, QColor(item.colour));
        break;
    case Pattern::Hatch:
    case Pattern::Cross:
        painter.fillRect(box, item.pattern == Pattern::Hatch ? QColor(item.colour) : background);
        painter.setPen(QColor(item.pattern == Pattern::Hatch ? m_palette->paddingHatch : item.colour));
        paintHatch(painter, box, 5, false);
        if (item.pattern == Pattern::Cross) {
            paintHatch(painter, box, 5, true);
        }
        break;
    case Pattern::Dotted:
        painter.setPen(QPen(QColor(item.colour), 1, Qt::DotLine));
        painter.drawRect(box.adjusted(0, 0, -1, -1));
        break;
    case Pattern::Bar:
        painter.fillRect(box, QColor(item.colour));
        painter.fillRect(
            box.adjusted(0, 0, 0, 2 - kSwatch), QColor(blended(item.colour, m_palette->text, 150)));
        break;
    case Pattern::DoubleEdge:
        painter.fillRect(box, QColor(item.colour));
        paintDoubleEdge(painter, box, QColor(blended(item.colour, m_palette->text, 170)));
        break;
    case Pattern::NotYetRead:
        painter.fillRect(box, QColor(blended(m_palette->background, item.colour, 70)));
        paintDots(painter, box, QColor(item.colour), 5);
        break;
    case Pattern::Ramp:
        paintRamp(painter, box);
        break;
    case Pattern::Dots:
    case Pattern::SparseDots:
        paintDotted(painter, box, item);
        break;
    case Pattern::Stripes:
        painter.fillRect(box, QColor(item.colour));
        painter.setPen(QColor(blended(item.colour, m_palette->background, 150)));
        paintHatch(painter, box, 5, false);
        break;
    case Pattern::Lines:
        painter.fillRect(box, QColor(item.colour));
        paintLevels(painter, box, QColor(blended(item.colour, m_palette->background, 150)));
        break;
    case Pattern::Break:
        paintZigZag(painter, box, QColor(item.colour));
        break;
    case Pattern::Outline:
        painter.setPen(QPen(QColor(item.colour), 2));
        painter.drawRect(box.adjusted(1, 1, -1, -1));
        break;
    }
}

void MapLegend::paintRamp(QPainter& painter, const QRect& box) const
{
    const auto& hues = m_palette->hues;
    for (int x = 0; x < kSwatch; ++x) {
        const size_t stop = static_cast<size_t>(x) * (m_palette->sequence.size()) / kSwatch;
        const QRgb colour = m_style.mode == MapColourMode::Layer ? m_palette->sequence[stop]
                                                                 : hues[static_cast<size_t>(x) * 4 / kSwatch];
        painter.fillRect(box.left() + x, box.top(), 1, kSwatch, QColor(colour));
    }
}

void MapLegend::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // without it, the program's
    painter.fillRect(rect(), QColor(m_palette->background));
    const auto boxes = layoutItems(width());
    for (size_t i = 0; i < boxes.size(); ++i) {
        const auto& item = m_items[i];
        const bool dimmed = item.paramClass && isDimmed(m_style, *item.paramClass);
        const QRect swatch(boxes[i].left(), boxes[i].center().y() - kSwatch / 2, kSwatch, kSwatch);
        painter.setOpacity(dimmed ? 0.3 : 1.0);
        paintSwatch(painter, swatch, item);
        painter.setOpacity(dimmed ? 0.6 : 1.0);
        QFont font = this->font();
        font.setStrikeOut(dimmed);
        painter.setFont(font);
        painter.setPen(QColor(m_palette->text));
        painter.drawText(boxes[i].adjusted(kSwatch + 6, 0, kGap, 0),
            static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
            fontMetrics().elidedText(item.text, Qt::ElideMiddle, boxes[i].width() - kSwatch - 4));
        if (hasFocus() && static_cast<int>(i) == m_current) {
            painter.setPen(QPen(QColor(m_palette->selection), 2));
            painter.drawRect(boxes[i].adjusted(-3, 0, 3, -1));
        }
        painter.setOpacity(1.0);
    }
}

void MapLegend::toggle(const Item& item)
{
    if (item.paramClass) {
        Q_EMIT classToggled(*item.paramClass);
    }
}

void MapLegend::mouseReleaseEvent(QMouseEvent* event)
{
    const auto boxes = layoutItems(width());
    for (size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i].contains(event->pos()) && event->button() == Qt::LeftButton) {
            toggle(Item(m_items[i]));
            return;
        }
    }
}

bool MapLegend::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto boxes = layoutItems(width());
        for (size_t i = 0; i < boxes.size(); ++i) {
            if (boxes[i].contains(help->pos()) && m_items[i].paramClass) {
                QToolTip::showText(
                    help->globalPos(), tr("Click to dim %1, or to show it again").arg(m_items[i].text), this);
                return true;
            }
        }
        QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

void MapLegend::keyPressEvent(QKeyEvent* event)
{
    const int count = static_cast<int>(m_items.size());
    if (count == 0) {
        QWidget::keyPressEvent(event);
    } else if (event->key() == Qt::Key_Right) {
        m_current = (m_current + 1) % count;
    } else if (event->key() == Qt::Key_Left) {
        m_current = (m_current + count - 1) % count;
    } else if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return) {
        const int current = m_current;
        toggle(Item(m_items[static_cast<size_t>(m_current)]));
        m_current = std::min(current, static_cast<int>(m_items.size()) - 1);
    } else {
        QWidget::keyPressEvent(event);
        return;
    }
    update();
}

void MapLegend::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}

void MapLegend::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    update();
}

} // namespace shardscope::ui
