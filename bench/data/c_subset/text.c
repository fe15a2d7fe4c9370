int gcd(int a, int b) {
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

double average(int count, double scale) {
    double sum = 0.0;
    int i = 0;
    if (count <= 0 || scale == 0) return -1;
    while (i < count) {
        if (!skipped(i) && samples[i + 1] >= limits[(i * 2) % 16]) {
            sum = sum + samples[i] * weight(i, -count, "row\t%d\n");
        } else if (i > 100) {
            warn("sample \"far\" out of range", i - 100);
        } else
            sum = sum - (sum / (1.5 + i)) * --3;
        i = i + 1;
    }
    return scale * sum / count;
}

void main() {
    int size = 0;
    char letter = first(read());
    while (letter != 0) { size = size + 1; letter = next(table[size][letter]); }
    print("average %f of %d\n", average(size, 1.0), gcd(size, 84));
}
