package score

// shape is a compiled list of points with strictly increasing utilization. Scores are on the scale of the result.
type shape []struct{ utilization, score int64 }

func compileShape(points []Point) shape {
	s := make(shape, len(points))
	for i, p := range points {
		s[i].utilization, s[i].score = int64(p.Utilization), int64(p.Score)*MaxScore/10
	}
	return s
}

// ShapeAt returns the function that a shape draws: the score from 0 to 100 at a utilization in percent, a straight line between two
// points, the score of the first point before it and of the last one after it. points must be valid ([ValidateShape]);
// without points every score is 0.
func ShapeAt(points []Point) func(utilization int64) int64 {
	if len(points) == 0 {
		return func(int64) int64 { return 0 }
	}
	return compileShape(points).at
}

// at interpolates between the two points around p (rule C5.1). It divides one product and truncates toward zero, so that
// falling slopes round up.
func (s shape) at(p int64) int64 {
	for i := range s {
		if p > s[i].utilization {
			continue
		}
		if i == 0 {
			return s[0].score
		}
		a, b := s[i-1], s[i]
		return a.score + (b.score-a.score)*(p-a.utilization)/(b.utilization-a.utilization)
	}
	return s[len(s)-1].score
}
