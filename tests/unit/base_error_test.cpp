#include "ir/base/error.hpp"

#include <gtest/gtest.h>

#include "ir/base/short_memory.hpp"
#include "terroir/assert_failure.hpp"
#include "terroir/dimension.hpp"

namespace terroir {
namespace {

TEST(Exception, CarriesCodeMessageAndContextChain) {
  try {
    with_context([] { return std::string("while compiling"); },
                 [] {
                   with_context(
                       [] { return std::string("MaxPool 'pool1' (layer 17, model.xml:203)"); },
                       [] { throw_error(ErrorCode::invalid_argument, "strides[", 0, "] must be positive, got ", 0); });
                 });
    FAIL() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), "strides[0] must be positive, got 0");
    EXPECT_STREQ(error.what(),
                 "while compiling: MaxPool 'pool1' (layer 17, model.xml:203): strides[0] must be positive, got 0");
    ASSERT_EQ(error.context().size(), 2u);
    EXPECT_EQ(error.context()[1], "while compiling");
  }
}

TEST(Exception, SaysWhatTheMemoryWasFor) {
  const auto what = [] { return "to read the model"; };
  for (const auto& fail : {+[]() -> int { throw std::bad_alloc(); }, +[]() -> int { throw std::length_error("n"); }}) {
    try {
      with_memory(what, fail);
      FAIL() << "nothing was thrown";
    } catch (const Exception& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      EXPECT_EQ(error.message(), "no memory to read the model");
    }
  }
  EXPECT_EQ(with_memory(what, [] { return 7; }), 7);
}

TEST(Exception, CopiesDoNotShareLaterContext) {
  Exception original(ErrorCode::busy, "text");
  const Exception copy = original;
  original.add_context("where");
  EXPECT_STREQ(copy.what(), "text");
  EXPECT_STREQ(original.what(), "where: text");
  EXPECT_STREQ(to_string(copy.code()), "busy");
}

TEST(Exception, WithContextReturnsTheValueAndLeavesForeignExceptionsAlone) {
  EXPECT_EQ(with_context([] { return std::string("never"); }, [] { return 42; }), 42);
  EXPECT_THROW(with_context([] { return std::string("never"); }, []() -> int { throw std::logic_error("x"); }),
               std::logic_error);
}

TEST(Exception, TellsWhatTheCallerSaidFromWhatWentWrong) {
  for (const ErrorCode code : {ErrorCode::parse_error, ErrorCode::invalid_argument, ErrorCode::not_found,
                               ErrorCode::shape_mismatch, ErrorCode::type_mismatch}) {
    EXPECT_THROW(throw_error(code, "text"), AssertFailure) << to_string(code);
  }
  for (const ErrorCode code : {ErrorCode::general, ErrorCode::file_not_found, ErrorCode::unsupported,
                               ErrorCode::out_of_memory, ErrorCode::not_implemented}) {
    try {
      throw_error(code, "text");
    } catch (const AssertFailure&) {
      FAIL() << to_string(code);
    } catch (const Exception& error) {
      EXPECT_EQ(error.code(), code);
    }
  }
}

TEST(Concat, PrintsVectorsBooleansAndBytes) {
  EXPECT_EQ(concat(std::vector<int64_t>{1, -1}, ' ', true, ' ', static_cast<unsigned char>(65)), "[1,-1] true 65");
  EXPECT_EQ(concat(std::vector<std::vector<Dimension>>{{Dimension(), Dimension(2)}, {}}), "[[?,2],[]]");
}

TEST(NearestName, FindsTyposAndRefusesStrangers) {
  const std::vector<std::string> known{"Convolution", "GroupConvolution", "MaxPool"};
  EXPECT_EQ(nearest_name("Convolutoin", known), "Convolution");
  EXPECT_EQ(nearest_name("maxpool", known), "MaxPool");
  EXPECT_EQ(nearest_name("Gather", known), "");
  EXPECT_EQ(nearest_name(std::string(1000000, 'M'), known), "");
  EXPECT_EQ(did_you_mean("MaxPol", known), ", did you mean 'MaxPool'?");
}

#if defined(TERROIR_CHECKED)
TEST(AssertDeathTest, PrintsOperandsAndAborts) {
  const int a = 3;
  EXPECT_DEATH(TERROIR_ASSERT(a == 4, a, "four"), "internal error: a == 4 is false; \\(a, \"four\"\\) = \\(3, four\\)");
}
#else
TEST(Assert, IsNotEvaluatedInTheReleasedBuild) {
  int calls = 0;
  TERROIR_ASSERT(++calls > 100, ++calls);
  EXPECT_EQ(calls, 0);
}
#endif

}  // namespace
}  // namespace terroir
