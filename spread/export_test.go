package spread

// Hint is the hint, for the tests.
var Hint = hint
