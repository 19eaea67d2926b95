// Shape, Dimension, PartialShape
#include <gtest/gtest.h>

#include "terroir/exception.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir {
namespace {

TEST(Shape, PrintsAndParses) {
  EXPECT_EQ((Shape{1, 3, 224}).to_string(), "[1,3,224]");
  EXPECT_EQ(Shape("[1, 3,224]"), (Shape{1, 3, 224}));
  EXPECT_EQ(Shape("1,3"), (Shape{1, 3}));
  for (const char* scalar : {"[]", "", " ", "[ ]"}) EXPECT_EQ(Shape(std::string(scalar)), Shape()) << scalar;
  for (const char* text : {"[1,3", "1,3]", "[1,,3]", "[1,x]", "[-1]", ",", "[", "[1,99999999999999999999]"}) {
    EXPECT_THROW(Shape(std::string(text)), Exception) << text;
  }
}

TEST(Shape, CountsElementsWithoutOverflow) {
  EXPECT_EQ(shape_size({}), 1u);
  EXPECT_EQ(shape_size({2, 3, 4}), 24u);
  EXPECT_EQ(shape_size({SIZE_MAX, SIZE_MAX, 0}), 0u);
  try {
    shape_size({size_t{1} << 32, size_t{1} << 32});
    FAIL();
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  }
  EXPECT_EQ(row_major_strides({2, 3, 4}), (std::vector<size_t>{12, 4, 1}));
}

TEST(Dimension, TextRoundTrips) {
  for (const char* text : {"?", "0", "7", "1..10", "..5", "3.."}) {
    EXPECT_EQ(Dimension(std::string(text)).to_string(), text);
  }
  EXPECT_EQ(Dimension(std::string(" -1 ")), Dimension::dynamic());
  EXPECT_EQ(Dimension(std::string("4..4")), Dimension(4));
  EXPECT_EQ(Dimension(std::string("0..")), Dimension());
  for (const char* text : {"", "..", "-2", "5..1", "a", "1...3", "-1..4", "1..-1", "3 4"}) {
    EXPECT_THROW(Dimension(std::string(text)), Exception) << text;
  }
}

TEST(Dimension, KnowsItsBounds) {
  EXPECT_TRUE(Dimension(3).is_static());
  EXPECT_EQ(Dimension(3).get_length(), 3);
  EXPECT_TRUE(Dimension(-1).is_dynamic());
  EXPECT_EQ(Dimension().get_max_length(), -1);
  EXPECT_EQ(Dimension(2, -1).get_min_length(), 2);
  EXPECT_THROW(Dimension(1, 2).get_length(), Exception);
  EXPECT_THROW(Dimension(-2), Exception);
  EXPECT_THROW(Dimension(3, 2), Exception);
}

TEST(Dimension, Relations) {
  EXPECT_TRUE(Dimension().same_scheme(Dimension(1, 4)));
  EXPECT_FALSE(Dimension(3).same_scheme(Dimension()));
  EXPECT_TRUE(Dimension(1, 4).compatible(Dimension(4, 9)));
  EXPECT_FALSE(Dimension(1, 4).compatible(Dimension(5, -1)));
  EXPECT_TRUE(Dimension().relaxes(Dimension(7)));
  EXPECT_TRUE(Dimension(7).refines(Dimension(1, 7)));
  EXPECT_FALSE(Dimension(1, 7).refines(Dimension(7)));
}

TEST(Dimension, Merges) {
  Dimension d(42);
  EXPECT_TRUE(Dimension::merge(d, Dimension(1, 5), Dimension(3, -1)));
  EXPECT_EQ(d, Dimension(3, 5));
  EXPECT_FALSE(Dimension::merge(d, Dimension(1), Dimension(2)));
  EXPECT_EQ(d, Dimension(3, 5));
  EXPECT_TRUE(Dimension::merge(d, d, Dimension(4)));
  EXPECT_EQ(d, Dimension(4));
}

// The claim of broadcast_merge, tried on every interval within 0..3: the result holds exactly the hull of what concrete
// extents give, and it fails only if all concrete extents fail.
TEST(Dimension, BroadcastMergeIsTheHullOfConcreteBroadcasts) {
  for (int64_t a0 = 0; a0 <= 3; ++a0)
    for (int64_t a1 = a0; a1 <= 3; ++a1)
      for (int64_t b0 = 0; b0 <= 3; ++b0)
        for (int64_t b1 = b0; b1 <= 3; ++b1) {
          int64_t low = INT64_MAX, high = -1;
          for (int64_t x = a0; x <= a1; ++x)
            for (int64_t y = b0; y <= b1; ++y) {
              if (x != y && x != 1 && y != 1) continue;
              const int64_t r = x == 1 ? y : x;
              low = std::min(low, r);
              high = std::max(high, r);
            }
          Dimension result(99);
          const bool merged = Dimension::broadcast_merge(result, Dimension(a0, a1), Dimension(b0, b1));
          ASSERT_EQ(merged, high >= 0) << a0 << ".." << a1 << " with " << b0 << ".." << b1;
          if (merged) {
            ASSERT_EQ(result, Dimension(low, high)) << a0 << ".." << a1 << " with " << b0 << ".." << b1;
          }
        }
  Dimension result;
  EXPECT_TRUE(Dimension::broadcast_merge(result, Dimension(), Dimension(3)));
  EXPECT_EQ(result, Dimension(3));
  EXPECT_TRUE(Dimension::broadcast_merge(result, Dimension(), Dimension()));
  EXPECT_EQ(result, Dimension());
}

TEST(Dimension, Arithmetic) {
  EXPECT_EQ(Dimension(2) + Dimension(1, 4), Dimension(3, 6));
  EXPECT_EQ(Dimension(2) + Dimension(), Dimension(2, -1));
  EXPECT_EQ(Dimension(5, 9) - Dimension(2, 6), Dimension(0, 7));
  EXPECT_EQ(Dimension(5, -1) - Dimension(2), Dimension(3, -1));
  EXPECT_THROW(Dimension(2) - Dimension(3), Exception);
  EXPECT_EQ(Dimension(2, 3) * Dimension(4, -1), Dimension(8, -1));
  EXPECT_EQ(Dimension() * Dimension(0), Dimension(0));
  EXPECT_EQ(Dimension(7) / 2, Dimension(3));
  EXPECT_EQ(Dimension(7, 9) / 4, Dimension(2));
  EXPECT_EQ(Dimension(5, 7) / 4, Dimension(1));
  EXPECT_EQ(Dimension(3, -1) / 2, Dimension(2, -1));
  EXPECT_THROW(Dimension(4) / 0, Exception);
  EXPECT_EQ(Dimension(1, 5) & Dimension(5, 8), Dimension(5));
  EXPECT_THROW(Dimension(1, 4) & Dimension(5, 8), Exception);
}

TEST(PartialShape, TextRoundTrips) {
  for (const char* text : {"[?,3,1..10]", "[]", "[...]", "[5..,..4]"}) {
    EXPECT_EQ(PartialShape(text).to_string(), text);
  }
  EXPECT_EQ(PartialShape("{1,3}"), (PartialShape{1, 3}));
  EXPECT_EQ(PartialShape("?,3"), (PartialShape{-1, 3}));
  EXPECT_EQ(PartialShape("..."), PartialShape::dynamic());
  // As in OpenVINO: no extents, not an unknown number of them.
  for (const char* scalar : {"", " ", "[ ]"}) EXPECT_EQ(PartialShape(std::string(scalar)), PartialShape({})) << scalar;
  for (const char* text : {"[1,2", "[1,]", "[1,...]", "{1,2]", ",", "1;2"}) {
    EXPECT_THROW(PartialShape{std::string(text)}, Exception) << text;
  }
}

TEST(PartialShape, IsAList) {
  PartialShape shape{1, 2, 3};
  EXPECT_EQ(std::vector<Dimension>(shape.rbegin(), shape.rend()), (std::vector<Dimension>{3, 2, 1}));
  *shape.rbegin() = 4;
  const PartialShape& same = shape;
  EXPECT_EQ(*same.rbegin(), 4);
  EXPECT_EQ(std::distance(same.crbegin(), same.crend()), 3);
  EXPECT_EQ(same.at(-1), 4);
  EXPECT_THROW(same.at(3), Exception);
  PartialShape other = PartialShape::dynamic();
  other.reserve(5);
  other.insert(other.begin(), shape.begin(), shape.end());
  other.insert(other.begin() + 1, 2, Dimension(7));
  other.emplace_back(1, 5);
  EXPECT_EQ(other, (PartialShape{1, 7, 7, 2, 4, {1, 5}}));
  EXPECT_EQ(shape + PartialShape({1, -1, 2}), (PartialShape{2, {2, -1}, 6}));
  EXPECT_TRUE((shape + PartialShape::dynamic()).rank().is_dynamic());
  EXPECT_THROW((shape + PartialShape{1}), Exception);
}

TEST(PartialShape, KnowsWhatIsStatic) {
  EXPECT_TRUE(PartialShape().is_static());
  EXPECT_EQ(PartialShape().to_shape(), Shape());
  EXPECT_TRUE((PartialShape{1, 2}).is_static());
  EXPECT_TRUE((PartialShape{1, -1}).is_dynamic());
  EXPECT_TRUE(PartialShape::dynamic().rank().is_dynamic());
  EXPECT_EQ(PartialShape::dynamic(3), (PartialShape{-1, -1, -1}));
  EXPECT_THROW((PartialShape{1, -1}).to_shape(), Exception);
  EXPECT_THROW(PartialShape::dynamic().size(), Exception);
  EXPECT_THROW(PartialShape::dynamic(Dimension(1, 2)), Exception);
  EXPECT_EQ((PartialShape{Dimension(2, 5), -1}).get_min_shape(), (Shape{2, 0}));
  EXPECT_EQ((PartialShape{Dimension(2, 5), -1}).get_max_shape(), (Shape{5, Interval::s_max}));
  EXPECT_EQ(PartialShape::dynamic().get_min_shape(), Shape());
  EXPECT_EQ(PartialShape::dynamic().get_max_shape(), Shape());
  EXPECT_EQ((PartialShape{1, 2})[-1], Dimension(2));
  EXPECT_THROW((PartialShape{1, 2})[2], Exception);
  EXPECT_THROW((PartialShape{1, 2})[-3], Exception);
  EXPECT_THROW((PartialShape(Shape{SIZE_MAX})), Exception);
}

TEST(PartialShape, Merges) {
  PartialShape shape = PartialShape::dynamic();
  EXPECT_TRUE(PartialShape::merge_into(shape, PartialShape{1, -1}));
  EXPECT_TRUE(PartialShape::merge_into(shape, PartialShape{-1, 4}));
  EXPECT_EQ(shape, (PartialShape{1, 4}));
  EXPECT_FALSE(PartialShape::merge_into(shape, PartialShape{1, 5}));
  EXPECT_FALSE(PartialShape::merge_into(shape, PartialShape{1}));
  EXPECT_EQ(shape, (PartialShape{1, 4}));
  PartialShape rank = PartialShape::dynamic();
  EXPECT_TRUE(rank.merge_rank(2));
  EXPECT_FALSE(rank.merge_rank(3));
  EXPECT_TRUE((PartialShape{1, -1}).compatible(PartialShape{-1, 2}));
  EXPECT_FALSE((PartialShape{1, -1}).compatible(PartialShape{2, 2}));
  EXPECT_TRUE((PartialShape{1, -1}).relaxes(PartialShape{1, 2}));
  EXPECT_TRUE((PartialShape{1, 2}).refines(PartialShape::dynamic()));
}

struct Broadcast {
  PartialShape a, b;
  op::AutoBroadcastSpec spec;
  const char* expected;  // null: fails
};

TEST(PartialShape, Broadcasts) {
  using T = op::AutoBroadcastType;
  const Broadcast cases[] = {
      {{2, 3}, {3}, T::NUMPY, "[2,3]"},
      {{3}, {2, 1}, T::NUMPY, "[2,3]"},
      {{2, 3}, {2}, T::NUMPY, nullptr},
      {{-1, 3}, {1, -1}, T::NUMPY, "[?,3]"},
      {{2, 3}, {}, T::NUMPY, "[2,3]"},
      {PartialShape::dynamic(), {3}, T::NUMPY, "[...]"},
      {{2, 3}, {2, 3}, T::NONE, "[2,3]"},
      {{2, 3}, {1, 3}, T::NONE, nullptr},
      {{2, 3, 4, 5}, {3, 4}, {T::PDPD, 1}, "[2,3,4,5]"},
      {{2, 3, 4, 5}, {3, 1, 1}, {T::PDPD, 1}, "[2,3,4,5]"},
      {{2, 3, 4, 5}, {4, 5}, {T::PDPD, -1}, "[2,3,4,5]"},
      {{2, 3, 4, 5}, {3, 4}, {T::PDPD, 2}, nullptr},
      {{2, 1}, {2, 3}, {T::PDPD, 0}, nullptr},
      {{2, 3}, {2, 3, 1}, {T::PDPD, 0}, "[2,3]"},
      {{2, -1}, {3}, {T::PDPD, 1}, "[2,3]"},
      {{2, 3}, {3}, {T::PDPD, 7}, nullptr},
  };
  for (const Broadcast& c : cases) {
    PartialShape shape = c.a;
    const bool merged = PartialShape::broadcast_merge_into(shape, c.b, c.spec);
    EXPECT_EQ(merged, c.expected != nullptr) << c.a << " with " << c.b;
    EXPECT_EQ(shape.to_string(), c.expected != nullptr ? c.expected : c.a.to_string()) << c.a << " with " << c.b;
  }
}

}  // namespace
}  // namespace terroir
